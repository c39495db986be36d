"""`cpi check`: a cloud config's mistakes, each with its path and line, before a deployment makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.stories.checked_config import CONTRADICTIONS, IN_AWS, OF_DIRECTOR, WRONG_TYPES, line_of, right

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from testbed.executable import Answer, Cpi
    from testbed.world import World
    from tests.stories.checked_config import Mistake

Findings = list[dict[str, Any]]


@pytest.fixture
def check(cpi: Cpi, tmp_path: Path) -> Callable[..., Findings]:
    """Return a function that checks a cloud config, and reads the findings."""

    def run(config: dict[str, Any], *arguments: str) -> Findings:
        path = tmp_path / "cloud-config.yml"
        path.write_text(yaml.safe_dump(config, sort_keys=False))
        answer = cpi.run("check", str(path), "--json", *arguments)
        assert answer.returncode in {0, 1}, answer
        found: Findings = answer.document["findings"]
        errors = [each for each in found if each["severity"] == "error"]
        assert answer.returncode == bool(errors)
        return found

    return run


def test_right(check: Callable[..., Findings], world: World) -> None:
    """A cloud config without mistakes has no findings, offline or with AWS."""
    assert check(right(world), "--offline") == []
    assert check(right(world)) == []


@pytest.mark.parametrize("mistake", [*WRONG_TYPES, *CONTRADICTIONS, *IN_AWS, *OF_DIRECTOR], ids=str)
def test_mistake(check: Callable[..., Findings], world: World, mistake: Mistake) -> None:
    """Each mistake is one error with its path, its line, and who refuses it.

    What the Director refuses may make other places wrong too: a name that is gone is missed elsewhere.
    """
    config = mistake.made_in(right(world))
    found = [each for each in check(config) if each["severity"] == "error"]
    errors = [each for each in found if each["source"] == mistake.source]
    text = yaml.safe_dump(config, sort_keys=False)
    wanted = {(path, line_of(text, path)) for path in mistake.shown.split() or [""]}
    assert wanted <= {(each["path"], each["line"]) for each in errors}, found
    assert mistake.source == "Director" or len(errors) == len(wanted), errors


@pytest.mark.parametrize("mistake", [*WRONG_TYPES, *CONTRADICTIONS, *IN_AWS], ids=str)
def test_call_fails(cpi: Cpi, world: World, mistake: Mistake) -> None:
    """What the CPI or AWS is said to refuse is refused, and nothing is left."""
    before = world.state()
    assert created(cpi, world, right(world), "vm_types").error is None
    for vm_cid in set(world.state()["instances"]) - set(before["instances"]):
        cpi.call("delete_vm", vm_cid).ok()
    kind = str(mistake.route[0])
    answer = created(cpi, world, mistake.made_in(right(world)), kind, mistake.route[1])
    assert answer.error is not None, answer
    assert world.state() == before


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
    """Return the default network in z1 with the first address that the Director would give."""
    subnet = config["networks"][0]["subnets"][0]
    is_reserved = subnet["reserved"][0].startswith("10.0.1.2-")
    address = {"ip": "10.0.1.50" if is_reserved else "10.0.1.2"}
    if "prefix" in subnet:
        address = {"ip": "10.0.1.64", "prefix": str(subnet["prefix"])}
    return {"default": {"type": "manual", **address, "cloud_properties": subnet["cloud_properties"]}}
