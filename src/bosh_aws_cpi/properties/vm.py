"""create_vm's cloud properties as manifests give them; networks are in `properties.network`."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import ID_DIGITS
from bosh_aws_cpi.properties.types import (
    HASH_RULE,
    WHOLE,
    AwsName,
    Cidr,
    Count,
    Price,
    Problem,
    Properties,
    PropertyError,
    RouteTableId,
    SentWhole,
    Text,
    Truth,
    arn,
    id_of,
    read_properties,
)
from bosh_aws_cpi.properties.vm_disks import EphemeralDisk, RootDisk

_BALANCING_NAME: Final = "[A-Za-z0-9-]{1,32}"
_TARGET_GROUPS: Final = AwsName(
    "the name of a target group, or its ARN in REGION",
    f"{_BALANCING_NAME}|{arn('elasticloadbalancing', 'targetgroup')}",
)
_CLASSIC: Final = AwsName(
    "the name of a classic load balancer; those of other load balancers are in lb_target_groups",
    _BALANCING_NAME,
)
_GROUP_NAME: Final = AwsName("the name of a security group, or its id, sg-…", f"(?!sg-).+|sg-{ID_DIGITS}")
_OF_RESOURCES: Final = AwsName("the ARN of a resource group in REGION", arn("resource-groups", "group"))
_INSTANCE_TYPE: Final = AwsName("the name of an instance type", ".+")
_KEY_PAIR: Final = AwsName(
    "the name of a key pair, not its file", r"(?![~./]|ssh-\w+ |-----)(?!.*\.(?:pem|pub)$).{1,255}"
)
_ZONE: Final = AwsName("a zone's name, such as REGIONa", r"[a-z]+(?:-[a-z]+)+-\d+(?:[a-z]|(?:-[a-z0-9]+)+)")
"""Also of a local or wavelength zone: us-east-1-bos-1a, us-east-1-wl1-bos-wlz-1 (EC2 user guide, "Regions and
zones")."""
_PROFILE: Final = AwsName("the name of an instance profile", r"[\w+=,.@-]{1,128}")
_GROUP_ARN: Final = r"^arn:[^:]+:elasticloadbalancing:[^:]+:\d{12}:targetgroup/[^/]+/[0-9a-f]+$"


def _as_arn(value: str) -> str:
    if re.fullmatch(_GROUP_ARN, value) is None:
        message = "must be the ARN of a target group, arn:aws:elasticloadbalancing:…:targetgroup/NAME/ID"
        raise ValueError(message)
    return value


TargetGroupArn = Annotated[
    str, AfterValidator(_as_arn), WithJsonSchema({"type": "string", "pattern": _GROUP_ARN}), _TARGET_GROUPS
]
Port = Annotated[int, Field(strict=True, ge=1, le=65_535), WHOLE]


class TargetGroup(Properties):
    """One of ``lb_target_groups``: a target group, and perhaps a port; the bare name or ARN will do."""

    name: Annotated[str, _TARGET_GROUPS] | None = None
    """* Name of the target group."""
    arn: TargetGroupArn | None = None
    """* ARN of the target group, in place of its name."""
    port: Port | None = None
    """* Port of the VM to which traffic goes, `1` to `65535`. Default: the target group's."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        if isinstance(values, str):
            return {"arn" if values.startswith("arn:") else "name": values}
        return values

    @model_validator(mode="after")
    def _one_group(self) -> Self:
        if bool(self.name) == bool(self.arn):
            problem = (
                "must hold either name or arn, not both" if self.name else "must hold either name or arn"
            )
            raise PydanticCustomError(HASH_RULE, problem)
        return self

    def __str__(self) -> str:
        return self.name or str(self.arn)

    @property
    def region(self) -> str:
        """The region in its ARN, which must be given."""
        return str(self.arn).split(":")[3]


class AdvertisedRoute(Properties):
    """One of ``advertised_routes``: a destination that is routed to the VM."""

    table_id: RouteTableId
    """Id of a route table in the VM's VPC."""
    destination: Cidr
    """IPv4 or IPv6 range in CIDR notation, such as `10.9.0.0/16`."""


def _as_spread(value: object) -> object:
    """A boolean or the word; the Ruby release has no such property, so no other text counts as true."""
    if isinstance(value, bool) or value == "prefer":
        return value
    raise ValueError("must be true, false or prefer")


_SWITCH_WORDS: Final = ["enabled", "disabled"]
_CREDITS: Final = ["standard", "unlimited"]
State = Literal["enabled", "disabled"]
"""The words of EC2's API model: AmdSevSnpSpecification, NestedVirtualizationSpecification."""


class CpuOptions(SentWhole):
    """``cpu_options``: EC2's CPU options, in snake case."""

    core_count: Count | None = None
    """Number of cores, which fallback types must support too. Needs `threads_per_core`. Default: the
    type's."""
    threads_per_core: Count | None = None
    """`1` turns hyper-threading off. Needs `core_count`. Default: the type's."""
    amd_sev_snp: State | None = None
    """`enabled` encrypts memory, on AMD types that support it. Default: EC2's."""
    nested_virtualization: State | None = None
    """`enabled` lets the VM run virtual machines, on Intel types that support it (C8i, M8i, R8i and others).
    Default: EC2's."""

    def problems(self) -> Iterator[Problem]:
        """Why create_vm refuses it: EC2 wants both numbers, or none."""
        if (self.core_count is None) != (self.threads_per_core is None):
            text = "cloud_properties.cpu_options needs both core_count and threads_per_core, or neither"
            yield Problem("cpu_options", text)


class CreditSpecification(SentWhole):
    """``credit_specification``: how a burstable type pays for its CPU; the bare word will do."""

    cpu_credits: str | None = Field(default=None, examples=_CREDITS)
    """`standard` or `unlimited`, for burstable types (T3 on a Dedicated Host: `standard`); ignored with a
    warning for others. Short form: `credit_specification: unlimited`. Default: EC2's."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        return {"cpu_credits": values} if isinstance(values, str) else values


REQUIRED: Final = ("instance_type", "availability_zone")
TENANCIES: Final = ("default", "dedicated")
NEEDS: Final = (("placement_partition", "placement_group"),)
"""Properties that mean nothing without another one."""
_EITHER: Final = "remove one of them"
_SPOT: Final = ("spot", "spot_bid_price")
_UNBALANCED: Final = "a load balancer sends no traffic to zones that it is not enabled for"
EXCLUSIVE: Final = (
    (*_SPOT, _EITHER),
    *((name, "capacity_reservation", _EITHER) for name in _SPOT),
    # EC2 user guide, "Capacity Reservations", limitations.
    ("capacity_reservation", "dedicated_host", "a VM on a Dedicated Host can't use a Capacity Reservation"),
    ("tenancy", "dedicated_host", _EITHER),
    # EC2 API reference, SpotPlacement: host tenancy "is not supported for Spot Instances".
    *((name, "dedicated_host", "a spot VM can't run on a Dedicated Host") for name in _SPOT),
    # EC2 user guide, "Placement groups", rules and limitations.
    ("placement_group", "dedicated_host", "a Dedicated Host can't be in a placement group"),
    # The same page, spread placement groups. It allows Dedicated Instances in no spread placement group.
    ("spread", "placement_group", "a VM can be in only one placement group"),
    ("spread", "dedicated_host", "a Dedicated Host can't be in a placement group"),
    ("spread", "tenancy", "EC2 spreads no VMs on dedicated hardware"),
    # EC2 user guide, "Launch instances into Capacity Reservations in a group". Instances in any placement
    # group can use other reservations (the same guide, "Placement group rules and limitations").
    (
        "capacity_reservation.market",
        "placement_group",
        "a Capacity Block can't be used with a placement group",
    ),
    ("capacity_reservation.market", "spread", "a Capacity Block can't be used with a placement group"),
    # The same guide, "Capacity Blocks for ML", supported platforms.
    ("capacity_reservation.market", "tenancy", "Capacity Blocks have the tenancy default"),
    # EC2 API reference, HibernationOptionsRequest and RunInstances: EC2 can't terminate an interrupted spot
    # instance with hibernation, as BOSH needs it; enclaves and hibernation exclude each other.
    *(
        ("hibernation", name, "EC2 would hibernate an interrupted spot VM, but BOSH needs it terminated")
        for name in _SPOT
    ),
    ("hibernation", "enclave", _EITHER),
    # EC2 user guide, "Placement groups", cluster placement groups.
    ("zone_fallback", "placement_group", "a cluster placement group is in a single zone"),
    ("zone_fallback", "dedicated_host", "a Dedicated Host is in a single zone"),
    ("zone_fallback", "capacity_reservation", "a Capacity Reservation is in a single zone"),
    # User guides of the load balancers, "Target groups"; "Enable Availability Zones for your load balancer".
    ("zone_fallback", "elbs", _UNBALANCED),
    ("zone_fallback", "lb_target_groups", _UNBALANCED),
)
"""Properties of which a VM can have one, and why."""
_VALUES: Final = {"capacity_reservation.market": "market: capacity-block", "tenancy": "tenancy: dedicated"}
"""Properties that exclude others only with this value."""


HELP = "See docs/cloud-properties.md for the list of supported properties."


OTHER_SPELLINGS = {"http_protocol_ipv_6": "http_protocol_ipv6"}
"""The spelling in the Ruby release of an option of `metadata_options`, and the one in EC2's style."""


class MetadataOptions(SentWhole):
    """EC2's instance metadata options, in snake case."""

    http_endpoint: str | None = Field(default=None, examples=_SWITCH_WORDS)
    """`enabled`; `disabled` is refused, because the agent reads its settings there. Default: EC2's."""
    http_protocol_ipv6: str | None = Field(default=None, examples=_SWITCH_WORDS)
    """`enabled` or `disabled`; the Ruby release's spelling `http_protocol_ipv_6` works too.
    Default: EC2's."""
    http_put_response_hop_limit: Annotated[int, Field(strict=True, gt=0, le=64), WHOLE] | None = None
    """Maximum number of network hops for the response with the token, `1` to `64`. Default: EC2's."""
    http_tokens: str | None = Field(default=None, examples=["optional", "required"])
    """`required`: IMDSv2 only. `optional`: also IMDSv1. Default: EC2's."""
    instance_metadata_tags: str | None = Field(default=None, examples=_SWITCH_WORDS)
    """`enabled`: the VM can read its tags from instance metadata. EC2 then allows only letters, digits and
    `_+-=.,:@` in the keys of its tags. Default: EC2's."""

    @classmethod
    def parse(cls, defaults: Json, own: Json) -> Json:
        """Read and check the options, a VM's own over the defaults.

        Returns:
            Those that are given.

        Raises:
            CloudError: One has the wrong type, is unknown, or the agent could not start with it.
        """
        own = cls.renamed(own)
        general = read_properties(cls, cls.renamed(defaults), "aws.metadata_options")
        special = read_properties(cls, own, "cloud_properties.metadata_options")
        options = {
            **general.model_dump(exclude={*own}, exclude_none=True),  # also of what is null in its own
            **special.model_dump(exclude_none=True),
        }
        if options.get("http_endpoint") == "disabled":
            path = f"{'' if 'http_endpoint' in own else 'aws.'}metadata_options.http_endpoint"
            text = f"{path} can't be disabled: the agent reads its settings there. Remove it"
            raise PropertyError(Problem(path, text))
        return options

    @staticmethod
    def renamed(values: Json) -> Json:
        """The options with one spelling for each."""
        return {OTHER_SPELLINGS.get(key, key): value for key, value in values.items()}


class CapacityReservation(Properties):
    """``capacity_reservation``: one reservation, a group of them, or which to prefer."""

    id: Annotated[Text, id_of("cr")] | None = None
    """Id of a reservation, `cr-…`, for `instance_type` only."""
    resource_group_arn: Annotated[str, _OF_RESOURCES] | None = None
    """ARN of a resource group of reservations. Of capacity blocks, it can hold only those of UltraServers."""
    preference: str | None = Field(default=None, examples=["open", "none", "capacity-reservations-only"])
    """`open`: use any matching reservation (EC2's default). `none`: use no reservation.
    `capacity-reservations-only`: launch only in a reservation."""
    market: Literal["capacity-block", "interruptible-capacity-reservation"] | None = None
    """* Kind of the reservations, for `instance_type` only: `capacity-block` or
    `interruptible-capacity-reservation`. Default: ordinary ones."""

    def problems(self) -> Iterator[Problem]:
        """Why create_vm refuses it: it must choose one way, and name the reservations of a market."""
        yield from self.not_chosen("capacity_reservation", "id", "resource_group_arn", "preference")
        if self.market and self.preference:
            path = "cloud_properties.capacity_reservation"
            text = f"{path}.market needs {path}.id or {path}.resource_group_arn, not a preference"
            yield Problem("capacity_reservation.market", text)


class DedicatedHost(Properties):
    """``dedicated_host``: the host, or the group of hosts, that the VM runs on."""

    id: Annotated[Text, id_of("h")] | None = None
    """Id of a host, `h-…`."""
    resource_group_arn: Annotated[str, _OF_RESOURCES] | None = None
    """ARN of a host resource group."""

    def problems(self) -> Iterator[Problem]:
        """Why create_vm refuses it: it must name the host one way."""
        return self.not_chosen("dedicated_host", "id", "resource_group_arn")


class LaunchTemplate(Properties):
    """``launch_template``: the template from which the VM is launched."""

    id: Annotated[Text, id_of("lt")] | None = None
    """Id of the template, `lt-…`."""
    name: Annotated[str, AwsName("the name of a launch template", r"[\w().\-/]{3,128}")] | None = Field(
        default=None, min_length=3
    )
    """Name of the template."""
    version: Text = "$Default"
    """Number of a version, `$Latest` or `$Default`. Default: `$Default`."""

    def problems(self) -> Iterator[Problem]:
        """Why create_vm refuses it: it must name one template, and one version."""
        yield from self.not_chosen("launch_template", "id", "name")
        if not re.fullmatch(r"\$Latest|\$Default|[1-9][0-9]*", self.version):
            text = "cloud_properties.launch_template.version must be a version's number, $Latest or $Default"
            yield Problem("launch_template.version", text)


class VmProperties(Properties):
    """create_vm's ``cloud_properties``."""

    instance_type: Annotated[str, _INSTANCE_TYPE] | None = None
    """EC2 instance type. Required."""
    instance_type_fallbacks: tuple[Annotated[str, _INSTANCE_TYPE], ...] = ()
    """* Types to try, in this order, [if EC2 has no room](capacity.md#when-ec2-has-no-room) for the first."""
    availability_zone: Annotated[str, _ZONE] | None = None
    """Zone of the VM. Its subnets and disks must be in the same zone. Required."""
    zone_fallback: Truth = False
    """* If the zone is full, launch the VM in [another one](capacity.md#when-a-zone-is-full) of its network's
    `subnet_fallbacks`."""
    security_groups: tuple[Annotated[str, _GROUP_NAME], ...] = ()
    """[Names or ids](network-interfaces.md#security-groups). Default: those of the networks."""
    key_name: Annotated[str, _KEY_PAIR] | None = None
    """SSH key pair. Default: `aws.default_key_name`."""
    iam_instance_profile: Annotated[str, _PROFILE] | None = None
    """Instance profile, by name. Default: `aws.default_iam_instance_profile`."""
    spot: Truth = False
    """* Launch the VM as a [spot instance](capacity.md#spot-instances) without a maximum price, as AWS
    recommends."""
    spot_bid_price: Price | None = None
    """Launch the VM as a spot instance at this maximum price, in dollars per hour."""
    spot_ondemand_fallback: Truth = False
    """If all spot launches fail, launch the VM on demand."""
    elbs: tuple[Annotated[str, _CLASSIC], ...] = ()
    """Names of classic load balancers to register the VM with."""
    lb_target_groups: tuple[Annotated[TargetGroup, _TARGET_GROUPS], ...] = ()
    """[Target groups](#lb_target_groups) to register the VM with."""
    placement_group: Annotated[str, AwsName("the name of a placement group", ".{1,255}")] | None = None
    """Placement group, by name."""
    placement_partition: Count | None = None
    """* Number of the partition, from 1, if `placement_group` has the strategy `partition`. Default: EC2's
    choice."""
    spread: Annotated[Literal["prefer"] | bool, BeforeValidator(_as_spread)] | None = None
    """* Run each VM of the instance group, at most seven in each zone, on [a rack of its own](spread.md).
    `prefer`: as long as EC2 has room for that. Default: `aws.spread`."""
    tenancy: str | None = Field(default=None, examples=[*TENANCIES])
    """`dedicated`: single-tenant hardware. Any other value is ignored with a warning. Default: shared."""
    dedicated_host: DedicatedHost | None = None
    """* [Dedicated Host](#dedicated_host) that the VM runs on."""
    capacity_reservation: CapacityReservation | None = None
    """* [Capacity reservation](#capacity_reservation) that the VM uses."""
    launch_template: LaunchTemplate | None = None
    """* [Launch template](#launch_template) with what no other property can give."""
    auto_assign_public_ip: Truth = False
    """Give the first interface a public address. If false, it has none, even if the subnet assigns them."""
    advertised_routes: tuple[AdvertisedRoute, ...] = ()
    """[Routes](#advertised_routes) to the VM."""
    source_dest_check: Truth = True
    """`false` lets a NAT or router VM forward traffic for other addresses."""
    raw_instance_storage: Truth = False
    """Give the agent all [instance store disks](vm-disks.md#instance-storage) unformatted."""
    ebs_optimized: Truth | None = None
    """* For old types that are EBS-optimised only on request. Default: EC2's."""
    cpu_options: CpuOptions | None = None
    """* [Cores and threads](#cpu_options)."""
    credit_specification: CreditSpecification | None = Field(default=None, examples=_CREDITS)
    """* [CPU credits](#credit_specification) of burstable types."""
    bandwidth_weighting: Literal["default", "vpc-1", "ebs-1"] | None = None
    """* `vpc-1` gives more of [the type's](#options-of-some-types) bandwidth to the network, `ebs-1` more to
    EBS. Default: EC2's, `default`."""
    enclave: Truth = False
    """* Let the VM run [Nitro Enclaves](#options-of-some-types)."""
    hibernation: Truth = False
    """* Let the VM be [hibernated](vm-options.md#hibernation)."""
    primary_ipv6: Truth = False
    """* Make each interface's IPv6 address its [primary one](#options-of-some-types), which target groups of
    type `instance` and IP address type `ipv6` need."""
    metadata_options: Json = Field(default_factory=dict)
    """[Instance metadata](#metadata_options). Default: `aws.metadata_options`."""
    skip_os_shutdown: Truth | None = None
    """* Whether delete_vm terminates the VM [without waiting](vm-options.md#delete_vm-without-shutdown) for
    its operating system. Default: `aws.skip_os_shutdown`, which must be set."""
    tags: Any = None
    """Hash of [tags](tags.md)."""
    ephemeral_disk: EphemeralDisk = EphemeralDisk()
    """[Disk](#ephemeral_disk) for jobs, packages and logs. Default: `aws.default_ephemeral_disk`."""
    root_disk: RootDisk = RootDisk()
    """[Disk](#root_disk) of the operating system. Default: `aws.default_root_disk`."""

    @property
    def instance_types(self) -> list[str]:
        """The type and its fallbacks, each once, in the order in which they are tried."""
        return list(dict.fromkeys([str(self.instance_type), *self.instance_type_fallbacks]))

    @property
    def is_spot(self) -> bool:
        """Whether the VM is launched on spot, with or without a maximum price."""
        return self.spot or self.spot_bid_price is not None

    @property
    def allows_spread(self) -> bool:
        """Whether no other property excludes ``spread``."""
        partners = {name for row in EXCLUSIVE if "spread" in row[:2] for name in row[:2]} - {"spread"}
        return not any(map(self._excludes, partners))

    def problems(self) -> Iterator[Problem]:
        """Why create_vm refuses the properties, whatever the instance type: some are missing, or disagree."""
        if missing := [name for name in REQUIRED if not getattr(self, name)]:
            names = ", ".join(f"cloud_properties.{name}" for name in missing)
            yield Problem(missing[0], f"Missing properties: {names}. {HELP}", tuple(missing[1:]))
        for given in (self.dedicated_host, self.launch_template, self.capacity_reservation, self.cpu_options):
            yield from given.problems() if given else ()
        for one, other in NEEDS:
            if getattr(self, one) and not getattr(self, other):
                yield Problem(one, f"cloud_properties.{one} needs {other}", (other,))
        for one, other, why in EXCLUSIVE:
            if self._excludes(one) and self._excludes(other):
                first, second = (_VALUES.get(name, name) for name in (one, other))
                yield Problem(one, f"{first} and {second} exclude each other: {why}", (other,))

    def ignored(self) -> Iterator[Problem]:
        """What create_vm ignores, as the Ruby release does, so that manifests keep working."""
        if self.tenancy and self.tenancy not in TENANCIES and not self.dedicated_host:
            text = (
                f"tenancy '{self.tenancy}' is ignored, and the VM runs on shared hardware: set it to "
                "dedicated, or name the host in dedicated_host"
            )
            yield Problem("tenancy", text, ("dedicated_host",))
        disk = self.ephemeral_disk
        if names := disk.ignored:
            way = "use_root_disk" if disk.use_root_disk else "use_instance_storage"
            other = "set the root disk's in root_disk, or " if disk.use_root_disk else ""
            text = f"ephemeral_disk.{way} ignores {', '.join(names)} beside it: {other}remove one of them"
            yield Problem(f"ephemeral_disk.{names[0]}", text)
        if disk.use_root_disk and self.raw_instance_storage:
            text = (
                "ephemeral_disk.use_root_disk ignores raw_instance_storage: the agent gets no instance "
                "storage. Remove one of them"
            )
            yield Problem("raw_instance_storage", text, ("ephemeral_disk",))
        if self.spot_ondemand_fallback and not self.is_spot:
            text = "Ignored: spot_ondemand_fallback, because the VM is not launched on spot: set spot"
            yield Problem("spot_ondemand_fallback", text, ("spot", "spot_bid_price"))

    def _excludes(self, key: str) -> bool:
        """Whether a property's value excludes others: by default every value except false."""
        reservation = self.capacity_reservation
        if key == "capacity_reservation":
            return reservation is not None and reservation.preference not in {"open", "none"}
        if key == "capacity_reservation.market":
            return reservation is not None and reservation.market == "capacity-block"
        return self.tenancy == "dedicated" if key == "tenancy" else bool(getattr(self, key))
