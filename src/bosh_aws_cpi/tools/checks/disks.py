"""The cloud properties of disk types: read with the models and plans of create_disk."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final

from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.model import gib
from bosh_aws_cpi.plan import ebs, tags
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.tools.checks.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.reading import is_open, properties_of, read, said
from bosh_aws_cpi.tools.checks.rules import name_of
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

_OF_VOLUME: Final = ("type", "iops", "throughput")
_DIRECTOR: Final = "director"
"""Stands for the Director's UUID."""


def findings(config: CloudConfig, aws: AwsConfig, used: Container[str] | None = None) -> Iterator[Finding]:
    """Check the cloud properties of all disk types.

    Args:
        config: The cloud config.
        aws: The CPI's configuration, for its tags.
        used: The names of those that a manifest uses; None without a manifest. Errors of the others
            are warnings, and so are all with several CPIs, since a disk type may be another one's.
    """
    for entry in config.lists["disk_types"]:
        found = [*_size(entry), *(_of_disk_type(entry, aws.tags) if not is_open(entry) else ())]
        is_used = (used is None or name_of(entry) in used) and not config.azs_of_others
        yield from found if is_used else map(as_warning, found)


def _size(entry: Node) -> Iterator[Finding]:
    size = entry.get("disk_size")
    if size is not None and size.value == 0 and not isinstance(size.value, bool):
        remedy = "Give the size in MiB, more than 0"
        yield Finding(Severity.ERROR, "a disk must have more than 0 MiB", remedy, size.place)


def _of_disk_type(entry: Node, common: Mapping[str, str]) -> Iterator[Finding]:
    nodes, section = properties_of(entry), entry.at("cloud_properties")
    values = {key: node.known() for key, node in nodes.items() if not node.is_unknown}
    properties, wrong = read(DiskProperties, values, section.at)
    yield from wrong
    if properties is None:
        return
    size = entry.value.get("disk_size")
    size_gib = gib(size) if isinstance(size, int) and size > 0 else None
    checks = [said(lambda: tags.of_disk(properties.name, properties.tags, _DIRECTOR, common))]
    if not any(nodes[key].is_unknown for key in _OF_VOLUME if key in nodes):
        volume = ebs.EbsVolume(properties.type, properties.iops, properties.throughput, size_gib)
        checks.append(said(lambda: ebs.check(volume, "disk", ebs.Origin("cloud_properties"))))
    for text in filter(None, checks):
        match = re.search(r"cloud_properties\.(\w+)", text)
        yield Finding(Severity.ERROR, text, "", section.at(match[1] if match else "tags").place)
