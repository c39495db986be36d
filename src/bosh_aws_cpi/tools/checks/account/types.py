"""Instance types: they exist, the zones offer them, and they fit each other and the stemcells. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from bosh_aws_cpi.model import MIB_PER_GIB, Image, gib
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.identifiers import is_no_zone, near_type
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.references import grouped, judged
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning


class Offers(Record):
    """Where instance types are offered.

    Attributes:
        region: The region.
        zones_of: The zones that offer each type.
        zones: The zones that the account can use; empty if they could not be looked up.
    """

    region: str
    zones_of: Mapping[str, Collection[str]]
    zones: Collection[str]

    def problem(self, name: str, launch: Launch) -> str:
        """Why a type can't be launched in a combination's zone; empty if it can."""
        if name not in self.zones_of:
            return f"there is no instance type '{name}' in {self.region}"
        zones = self.zones_of[name]
        if not launch.zone or launch.zone in zones or (self.zones and launch.zone not in self.zones):
            return ""
        return f"zone {launch.zone} does not offer type '{name}'; these do: {', '.join(sorted(zones))}"

    def end(self, launch: Launch) -> bool:
        """Whether no VM of a combination can be created.

        create_vm tries the next type if a zone does not offer one, but not if a type does not exist.
        """
        for node in launch.types:
            name = str(node.value)
            if name not in self.zones_of or not self.problem(name, launch):
                return name not in self.zones_of
        return launch.knows_all_types


def missing_zones(offers: Offers, launches: Iterable[Launch]) -> Iterator[Finding]:
    """Zones that don't exist, or that the account can't use."""
    for node, _ in grouped(launches, lambda launch: launch.named("availability_zone")):
        name = str(node.value)
        if name in offers.zones or is_no_zone(name):  # that is said without AWS
            continue
        what = f"zone '{name}' does not exist in {offers.region}, or the account can't use it"
        known = [name.lower()] if name.lower() in offers.zones else sorted(offers.zones)
        yield Finding(Severity.ERROR, what, f"Use {', '.join(known)}", node.place, "AWS")


def unoffered(offers: Offers, launches: Iterable[Launch]) -> Iterator[Finding]:
    """Types that can't be launched in the zones of their VMs: a warning while others can."""
    for node, users in grouped(launches, lambda launch: launch.types):
        name = str(node.value)
        remedy = near_type(name) if name not in offers.zones_of else ""
        found = judged(node, users, partial(offers.problem, name), remedy)
        yield from found if all(map(offers.end, users)) else map(as_warning, found)


def stemcells(cid: str, image: Image | None) -> Iterator[Finding]:
    """A stemcell's AMI must exist and be enabled."""
    if image is None:
        what = f"there is no AMI '{cid}': no VM can be created from the stemcell"
        yield Finding(Severity.ERROR, what, "Upload the stemcell: bosh upload-stemcell --fix", source="AWS")
    elif image.state == "disabled":
        what = f"AMI '{cid}' is disabled: no VM can be created from it"
        yield Finding(Severity.ERROR, what, "Enable it (aws ec2 enable-image)", source="AWS")


def small_roots(images: Sequence[Image], launches: Iterable[Launch]) -> Iterator[Finding]:
    """Root disks that are smaller than all stemcells': EBS refuses a volume smaller than its snapshot.

    Source: EC2 API reference, EbsBlockDevice.
    """
    least = min(images, key=lambda image: image.root_gib)
    for node, _ in grouped(launches, _root_size):
        if gib(node.value) < least.root_gib:
            what = (
                f"the root disk of {gib(node.value)} GiB is smaller than that of AMI '{least.ami_id}' "
                f"({least.root_gib} GiB): EC2 refuses the launch"
            )
            remedy = f"Give at least {least.root_gib * MIB_PER_GIB} MiB, or remove size"
            yield Finding(Severity.ERROR, what, remedy, node.place, "AWS")


def _root_size(launch: Launch) -> list[Node]:
    node = launch.get("root_disk", "size")
    return [node] if node is not None and type(node.value) is int else []
