"""Runs `cpi check` over a cloud config, and creates what the cloud config describes."""

from collections.abc import Mapping
from typing import Any

import yaml

from testbed.executable import Answer, Cpi
from testbed.world import World

Findings = list[dict[str, Any]]
NOT_TRIED = "EC2 was not asked whether it would launch the VMs"
"""The note of a check without a stemcell."""


def checked(cpi: Cpi, config: Mapping[str, Any], *arguments: str) -> Findings:
    """Check a cloud config; the exit status must fit the findings, which are returned without `NOT_TRIED`."""
    path = cpi.folder / "cloud-config.yml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    answer = cpi.run("check", str(path), "--json", *arguments)
    assert answer.returncode in {0, 1}, answer
    found: Findings = answer.document["findings"]
    assert answer.returncode == bool(errors(found))
    return [each for each in found if not each["what"].startswith(NOT_TRIED)]


def checked_with(
    cpi: Cpi, config: Mapping[str, Any], groups: list[dict[str, Any]], *arguments: str
) -> Findings:
    """Check a cloud config with a manifest that has these instance groups."""
    manifest = cpi.folder / "manifest.yml"
    stemcells = [{"alias": "default", "os": "ubuntu-noble", "version": "latest"}]
    deployed = {"name": "deployment", "stemcells": stemcells, "instance_groups": groups}
    manifest.write_text(yaml.safe_dump(deployed))
    return checked(cpi, config, *arguments, "--manifest", str(manifest))


def errors(found: Findings) -> Findings:
    """Return the errors among findings."""
    return of("error", found)


def of(severity: str, found: Findings) -> Findings:
    """Return the findings of one severity."""
    return [each for each in found if each["severity"] == severity]


def created(cpi: Cpi, world: World, config: dict[str, Any], kind: str, index: Any = 0) -> Answer:
    """Create what a cloud config's entry describes, as the Director does."""
    if kind == "disk_types":
        entry = config[kind][index]
        return cpi.call("create_disk", entry["disk_size"], entry["cloud_properties"], None)
    vm_type = config["vm_types"][index if kind == "vm_types" else 1]
    properties = {**config["azs"][0]["cloud_properties"], **vm_type["cloud_properties"]}
    stemcell = f"{world.image_id} light"
    return cpi.call("create_vm", "agent-1", stemcell, properties, network_of(config), [], {}, stemcell=2)


def network_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return the default network in z1 with an address that the Director may give."""
    properties = config["networks"][0]["subnets"][0]["cloud_properties"]
    return {"default": {"type": "manual", "ip": "10.0.1.50", "cloud_properties": properties}}
