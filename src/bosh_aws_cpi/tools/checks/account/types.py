"""Instance types: they exist, the zones offer them, and they fit each other and the stemcells. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import MIB_PER_GIB, Image, InstanceTypeFacts, gib
from bosh_aws_cpi.plan import instance_types
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.checks.identifiers import is_no_zone, near_type
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.references import Named, named
from bosh_aws_cpi.tools.findings import Finding, Severity


class Offers(Record):
    """Where instance types are offered.

    Attributes:
        region: The region.
        offered: Types and zones.
        zones: The zones that the account can use; empty if they could not be looked up.
    """

    region: str
    offered: Collection[tuple[str, str]]
    zones: Collection[str]

    def missing_zones(self, launches: Iterable[Launch]) -> list[Named]:
        """The named zones that don't exist, or that the account can't use; none if that is not known."""
        found = named(launches, lambda launch: launch.named("availability_zone")) if self.zones else []
        return [each for each in found if each.node.value not in self.zones]

    def problem(self, name: str, zone: str) -> str:
        """Why a type can't be launched in a zone; empty if it can."""
        others = sorted(where for offered, where in self.offered if offered == name)
        if not others:
            return f"there is no instance type '{name}' in {self.region}"
        if zone in others or not zone:
            return ""
        return f"zone {zone} does not offer type '{name}'; these do: {', '.join(others)}"

    def exists(self, name: str) -> bool:
        """Whether some zone offers a type."""
        return any(offered == name for offered, _ in self.offered)


def missing_zones(offers: Offers, launches: Iterable[Launch]) -> Iterator[Finding]:
    """Zones that don't exist, or that the account can't use."""
    for each in offers.missing_zones(launches):
        if not is_no_zone(str(each.node.value)):  # that is said without AWS
            what = f"zone '{each.node.value}' does not exist in {offers.region}, or the account can't use it"
            lower = str(each.node.value).lower()
            known = [lower] if lower in offers.zones else sorted(offers.zones)
            remedy = f"Use {', '.join(known)}"
            yield Finding(Severity.ERROR, what, remedy, each.node.place, "AWS")


def unoffered(offers: Offers, launches: Iterable[Launch]) -> Iterator[Finding]:
    """Types that can't be launched in the zones of their VMs.

    create_vm tries the next type if a zone does not offer one, but not if a type does not exist.
    """
    in_zones = [each for each in launches if not (offers.zones and each.zone) or each.zone in offers.zones]
    for first in named(in_zones, lambda launch: launch.types[:1]):
        name = str(first.node.value)
        remedy = "" if offers.exists(name) else near_type(name)
        yield from first.findings_if_wrong(lambda launch: _blocked(offers, launch), remedy)
    for each in named(in_zones, lambda launch: launch.types):
        yield from _doubtful(offers, each.node, each.launches)


def _blocked(offers: Offers, launch: Launch) -> str:
    """Why none of the types of a combination can be launched; empty if one can."""
    said = ""
    for node in launch.types:
        problem = offers.problem(str(node.value), launch.zone)
        if not problem:
            return ""
        said = said or problem
        if not offers.exists(str(node.value)):
            return problem
    return said if launch.knows_all_types else ""


def _doubtful(offers: Offers, node: Node, launches: Sequence[Launch]) -> Iterator[Finding]:
    """A type that can't be launched, among others that can."""
    for launch in launches:
        problem = offers.problem(str(node.value), launch.zone)
        if problem and not _blocked(offers, launch):
            yield Finding(
                Severity.WARNING, problem, "Only the other types can be launched", node.place, "AWS"
            )
            return


def stemcells(cid: str, image: Image | None) -> Iterator[Finding]:
    """A stemcell's AMI must exist and be enabled."""
    if image is None:
        what = f"there is no AMI '{cid}': no VM can be created from the stemcell"
        yield Finding(Severity.ERROR, what, "Upload the stemcell: bosh upload-stemcell --fix", source="AWS")
    elif image.state == "disabled":
        what = f"AMI '{cid}' is disabled: no VM can be created from it"
        yield Finding(Severity.ERROR, what, "Enable it (aws ec2 enable-image)", source="AWS")


def misfits(
    facts: Mapping[str, InstanceTypeFacts], images: Sequence[Image], launches: Iterable[Launch]
) -> Iterator[Finding]:
    """Types that can't run the same AMI as the others of a VM type, or none of the stemcells."""
    for each in named(launches, lambda launch: launch.types):
        own = facts.get(str(each.node.value))
        if own is None:
            continue
        refusals = [said for image in images if (said := _refusal(image, own))]
        if images and len(refusals) == len(images):
            yield Finding(Severity.ERROR, refusals[0], "", each.node.place)
            continue

        def different(launch: Launch, own: InstanceTypeFacts = own) -> str:
            return _different(own, launch, facts)

        yield from each.findings_if_wrong(different, "No stemcell fits both")


def small_roots(images: Sequence[Image], launches: Iterable[Launch]) -> Iterator[Finding]:
    """Root disks that are smaller than a stemcell's: EBS refuses a volume smaller than its snapshot.

    Source: EC2 API reference, EbsBlockDevice. It is an error if no stemcell fits.
    """
    for each in named(launches, _root_size):
        size = gib(each.node.value)
        small = [image for image in images if size < image.root_gib]
        if not small:
            continue
        is_wrong = len(small) == len(images)
        other = (min if is_wrong else max)(small, key=lambda image: image.root_gib)
        what = (
            f"the root disk of {size} GiB is smaller than that of AMI '{other.ami_id}' "
            f"({other.root_gib} GiB): EC2 refuses the launch"
        )
        remedy = f"Give at least {other.root_gib * MIB_PER_GIB} MiB, or remove size"
        severity = Severity.ERROR if is_wrong else Severity.WARNING
        yield Finding(severity, what, remedy, each.node.place, "AWS")


def _root_size(launch: Launch) -> list[Node]:
    node = launch.get("root_disk", "size")
    is_size = node is not None and isinstance(node.value, int) and not isinstance(node.value, bool)
    return [node] if node is not None and is_size else []


def _refusal(image: Image, facts: InstanceTypeFacts) -> str:
    """What create_vm says of an AMI and a type."""
    try:
        instance_types.check_architecture(image, facts)
    except CloudError as error:
        return error.message
    return ""


def _different(own: InstanceTypeFacts, launch: Launch, facts: Mapping[str, InstanceTypeFacts]) -> str:
    """How a fallback type differs in architecture from the first one; empty for the first one."""
    first = facts.get(str(launch.types[0].value))
    if first is None or not first.architectures or not own.architectures:
        return ""
    if first.architectures & own.architectures:
        return ""
    mine, its = (" and ".join(sorted(each.architectures)) for each in (own, first))
    return f"type '{own.name}' runs {mine}, but '{first.name}' runs {its}"
