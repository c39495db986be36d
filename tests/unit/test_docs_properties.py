"""docs/cloud-properties.md against the code."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from bosh_aws_cpi.aws.sdk.errors import NO_CAPACITY
from bosh_aws_cpi.plan.tags import AGENT_TAG, CALL_TAG, DIRECTOR_TAG
from bosh_aws_cpi.properties import disk, network, stemcell, vm
from bosh_aws_cpi.properties.types import Properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cloud-properties.md").read_text()
SECTIONS: dict[str, type[Properties]] = {
    "VMs": vm.VmProperties,
    "`ephemeral_disk`": vm.EphemeralDisk,
    "`root_disk`": vm.RootDisk,
    "`metadata_options`": vm.MetadataOptions,
    "`advertised_routes`": vm.AdvertisedRoute,
    "`capacity_reservation`": vm.CapacityReservation,
    "`dedicated_host`": vm.DedicatedHost,
    "`cpu_options`": vm.CpuOptions,
    "`credit_specification`": vm.CreditSpecification,
    "Disks": disk.DiskProperties,
    "Stemcells": stemcell.HeavyStemcellProperties,
    "Networks": network.Network,
    "A network's `cloud_properties`": network.NetworkCloudProperties,
}
OTHER_DEFAULTS = {
    ("VMs", "instance_type"): "required",
    ("VMs", "availability_zone"): "required",
    ("VMs", "key_name"): "`aws.default_key_name`",
    ("VMs", "iam_instance_profile"): "`aws.default_iam_instance_profile`",
    ("VMs", "metadata_options"): "`aws.metadata_options`",
    ("VMs", "security_groups"): "the networks'",
    ("A network's `cloud_properties`", "subnet"): "required",
    ("Stemcells", "boot_mode"): "`legacy-bios`; of an `arm64` stemcell `uefi`",
    **{
        (section, name): f"`aws.{name}`"
        for section in ("`ephemeral_disk`", "Disks", "Stemcells")
        for name in ("encrypted", "kms_key_arn")
    },
}
"""Those that are not the model's: it leaves them to the configuration, or to a check of its own."""


def section(title: str) -> str:
    """The text below a heading, up to the next one."""
    parts = re.split(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


def rows(title: str) -> Iterator[tuple[str, str]]:
    """Each property of a section's table, with its default."""
    for names, default in re.findall(r"^\| (`.+?`) \| (.*?) ?\| .*\|$", section(title), flags=re.MULTILINE):
        for name in names.split(", "):
            yield name.strip("`"), default


def plain_default(field: FieldInfo) -> str:
    """A model's default as the page writes it; nothing when it is null or a hash of properties."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, Properties):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def test_sections() -> None:
    """Every hash of properties that the code reads has its table."""
    kinds = {
        kind
        for module in (vm, disk, stemcell, network)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Properties) and kind.__module__ == module.__name__
    }
    # A heavy stemcell has every property of the other kind, too.
    assert kinds == {*SECTIONS.values(), stemcell.StemcellProperties}


@pytest.mark.parametrize("title", SECTIONS)
def test_names(title: str) -> None:
    """Each table lists every property that the code reads, once, and no other."""
    assert sorted(name for name, _ in rows(title)) == sorted(SECTIONS[title].model_fields)


@pytest.mark.parametrize("title", SECTIONS)
def test_defaults(title: str) -> None:
    """Each default is the code's; where it has none, the page says at most in words who decides."""
    for name, default in rows(title):
        expected = OTHER_DEFAULTS.get((title, name)) or plain_default(SECTIONS[title].model_fields[name])
        if expected:
            assert default == expected, name
        else:
            assert not re.search("`|required", default), name


def templates() -> Iterator[str]:
    """Each string of the source, with an ellipsis for what is filled in."""
    for path in (ROOT / "src/bosh_aws_cpi").rglob("*.py"):
        if path.name == "instance_type_table.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value.replace("%s", "…")


def test_messages() -> None:
    """Each message that the page explains is one of the program's."""
    messages = re.findall(r"^\| (`+)(.+?)\1(?: \(log\))? \|", section("Messages"), flags=re.MULTILINE)
    source = "\n".join(templates())
    assert len(messages) > 1
    for _, message in messages:
        begin = message.strip().removesuffix("…")
        assert re.search(re.escape(begin).replace("…", ".+"), source), message


def test_answers_without_room() -> None:
    """The page lists exactly those answers of EC2 after which another instance type is tried."""
    text = section("When EC2 has no room")
    cells = re.findall(r"^\| (`[A-Z].+?) \|", text, flags=re.MULTILINE)
    answers = [name.strip("`") for cell in cells for name in cell.split(", ")]
    assert sorted(answers) == sorted(NO_CAPACITY)


def test_tags() -> None:
    """The page names the tags by which a stray resource can be traced."""
    assert set(re.findall(r"`(bosh_\w+)`", section("Tags"))) == {DIRECTOR_TAG, AGENT_TAG, CALL_TAG}


def test_configuration() -> None:
    """Each key of the configuration that the page names is a property of the job."""
    job = yaml.safe_load((ROOT / "jobs/aws_cpi/spec").read_text())
    named = set(re.findall(r"`(aws\.[a-z_]+)`", PAGE))
    assert named
    known = {".".join(name.split(".")[:2]) for name in job["properties"]}
    assert named <= known


def test_links() -> None:
    """Each link within the page leads to one of its headings."""
    headings = re.findall(r"^##+ (.+)$", PAGE, flags=re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9_ -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", PAGE))
    assert links
    assert links <= anchors
