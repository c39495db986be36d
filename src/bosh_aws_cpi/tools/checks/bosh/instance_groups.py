"""The instance groups of a deployment manifest: what counts VMs and disks, and the networks of VMs."""

from collections.abc import Sequence

from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.rules import hashes, name_of, text_of
from bosh_aws_cpi.tools.checks.documents import Node


class Group(Record):
    """An instance group.

    Attributes:
        node: Its entry.
        zones: The names of its azs, "" alone without any; None when they aren't known.
        networks: Its networks: the entry, and the network in the cloud config.
    """

    node: Node
    zones: Sequence[str] | None
    networks: Sequence[tuple[Node, Node]]

    @classmethod
    def of(cls, node: Node, config: CloudConfig) -> "Group":
        """Read it; what can't be read is left out."""
        azs = node.get("azs")
        zones: list[str] | None = [""]
        if azs is not None:
            is_known = isinstance(azs.value, list) and all(isinstance(each, str) for each in azs.value)
            zones = list(azs.value) if is_known and not azs.has_variables else None
        found = [(each, config.named("networks", name_of(each))) for each in hashes(node.get("networks"))]
        return cls(node, zones, [(entry, network) for entry, network in found if network is not None])

    @property
    def shown(self) -> str:
        """Its name, for messages."""
        return f"instance group '{name_of(self.node)}'"


def is_errand(node: Node) -> bool:
    """Whether a deployment creates no VMs for a group (planner.rb, instance_groups_starting_on_deploy)."""
    return text_of(node.get("lifecycle")) == "errand"
