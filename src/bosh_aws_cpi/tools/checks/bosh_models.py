"""What BOSH reads in cloud configs and manifests, with the cloud properties in it: keys and types.

`cpi check` and docs/cloud-config.schema.json follow these models; no method of the CPI reads them. Sources:
BOSH, src/bosh-director/lib/bosh/director: cloud_manifest_parser.rb, and the parsers of networks, subnets, the
compilation and instance groups in deployment_plan; bosh-cli, deployment/manifest/parser.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import BeforeValidator, Field, StrictBool, StrictInt

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.managed_network import ManagedNetworkProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Cidr, Properties, Text
from bosh_aws_cpi.properties.vm import OTHER_SPELLINGS, MetadataOptions, VmProperties

Positive = Annotated[int, Field(strict=True, ge=1)]


class BoshHash(Properties):
    """A hash that BOSH reads."""

    others: ClassVar[tuple[str, ...]] = ()
    """Keys that are not looked at, or that BOSH refuses."""

    @classmethod
    def refuses(cls, key: str) -> bool:  # noqa: ARG003 - none is
        """Whether an unknown key is an error: BOSH ignores all."""
        return False


class Named(BoshHash):
    """An entry of a list."""

    name: Text
    """Unique name."""


class VmType(Named):
    """A VM type, or an extension."""

    cloud_properties: VmProperties = VmProperties()
    """Properties of VMs in AWS. A type's and its extensions' go before a zone's."""


class Az(VmType):
    """An availability zone."""

    cpi: Text | None = None
    """Name of the CPI in the CPI config."""


class DiskType(Named):
    """A type of persistent disks."""

    disk_size: Positive
    """MiB."""
    cloud_properties: DiskProperties = DiskProperties()
    """Properties of disks in AWS."""


class OfInterfaces(BoshHash):
    """What interfaces of VMs have of a subnet, or of a dynamic network."""

    dns: tuple[str, ...] = ()
    """Addresses of the DNS servers."""
    cloud_properties: NetworkCloudProperties = NetworkCloudProperties()
    """Subnet and security groups in AWS."""


class BoshSubnet(BoshHash):
    """What all subnets have."""

    name: Text | None = None
    """Unique name of the subnet, for managed networks."""
    az: Text | None = None
    """Availability zone, by the name in `azs`."""
    azs: tuple[Text, ...] = ()
    """Availability zones, by name. In AWS a subnet lies in one zone."""
    prefix: Text | None = None
    """Prefix length of what each VM gets. Default: a single address."""


class DynamicSubnet(OfInterfaces, BoshSubnet):
    """A subnet in which AWS chooses the addresses."""

    prefix: StrictInt | None = None  # type: ignore[assignment]  # the Director takes no text here
    """Prefix length, which can only be that of a single address."""


class ManualSubnet(OfInterfaces, BoshSubnet):
    """A subnet in which BOSH chooses the addresses."""

    range: str
    """The subnet's range in CIDR notation."""
    gateway: str
    """AWS's router: the first address of the range."""
    reserved: Any = None
    """Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."""
    static: Any = None
    """Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."""
    netmask_bits: StrictInt | None = None
    """Size of the free range that the CPI chooses for a managed network without a range."""


class ManagedSubnet(ManualSubnet):
    """A subnet that the CPI creates."""

    name: str
    """Unique name of the subnet."""
    range: Cidr | None = None  # type: ignore[assignment]  # the CPI can choose it
    """The subnet's range in CIDR notation."""
    gateway: str | None = None  # type: ignore[assignment]  # the same
    """AWS's router: the first address of the range."""
    cloud_properties: ManagedNetworkProperties = ManagedNetworkProperties()  # type: ignore[assignment]  # others
    """The subnet to create; the azs' properties are merged into it."""


class VipSubnet(BoshSubnet):
    """Elastic IPs."""

    static: tuple[Any, ...] = ()
    """Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."""


class BoshNetwork(Named):
    """What all networks have."""

    others: ClassVar[tuple[str, ...]] = ("subnets", "managed", "dns", "cloud_properties")
    type: Literal["manual", "dynamic", "vip"] = "manual"
    """Type of the network."""


class ManualNetwork(BoshNetwork):
    """A network in which BOSH chooses the addresses."""

    others: ClassVar[tuple[str, ...]] = ()
    managed: Any = None
    """Whether the CPI creates the subnets."""
    subnets: tuple[ManualSubnet, ...]
    """Subnets."""


class BoshManagedNetwork(ManualNetwork):
    """A manual network whose subnets the CPI creates."""

    subnets: tuple[ManagedSubnet, ...]
    """Subnets."""


class DynamicNetwork(OfInterfaces, BoshNetwork):
    """A network in which AWS chooses the addresses."""

    others: ClassVar[tuple[str, ...]] = ("az", "azs", "managed", "prefix")
    subnets: tuple[DynamicSubnet, ...] = ()
    """Subnets."""


class VipNetwork(BoshNetwork):
    """A network of elastic IPs."""

    others: ClassVar[tuple[str, ...]] = ()
    subnets: tuple[VipSubnet, ...] = ()
    """Subnets."""
    cloud_properties: NetworkCloudProperties = NetworkCloudProperties()
    """Not used."""


NETWORKS: Final[Mapping[str, type[BoshNetwork]]] = {
    "manual": ManualNetwork,
    "managed": BoshManagedNetwork,
    "dynamic": DynamicNetwork,
    "vip": VipNetwork,
}
"""The networks by their types; a managed network is a manual one whose subnets the CPI creates."""


def of_network(value: object) -> type[BoshNetwork]:
    """The model of a network, which its type decides on."""
    given = value if isinstance(value, dict) else {"type": ""}
    kind = given.get("type") or "manual"
    return NETWORKS.get("managed" if kind == "manual" and given.get("managed") else str(kind), BoshNetwork)


def _by_type(value: object) -> BoshNetwork:
    return of_network(value).model_validate(value)


class VmResources(BoshHash):
    """``vm_resources``."""

    cpu: StrictInt
    """Number of CPUs."""
    ram: StrictInt
    """MiB of memory."""
    ephemeral_disk_size: StrictInt
    """MiB of the ephemeral disk."""


class OfVms(BoshHash):
    """Which VMs the compilation or an instance group has."""

    vm_type: Text | None = None
    """VM type, by name."""
    vm_extensions: tuple[Text, ...] = ()
    """VM extensions, by name."""
    vm_resources: VmResources | None = None
    """CPU, memory and disk in place of a VM type."""


class Compilation(OfVms):
    """The compilation."""

    workers: Positive
    """Number of VMs that compile packages."""
    network: Text
    """Network of these VMs, by name."""
    az: Text | None = None
    """Availability zone, by name."""
    reuse_compilation_vms: StrictBool = False
    """Keep the VMs until all packages are compiled."""
    orphan_workers: StrictBool = False
    """Delete the VMs later, in the background."""
    env: Json = Field(default_factory=dict)
    """BOSH's environment of the VMs."""
    cloud_properties: VmProperties = VmProperties()
    """Cloud properties of these VMs, in place of a VM type."""


class BoshCloudConfig(BoshHash):
    """A cloud config."""

    azs: tuple[Az, ...] = ()
    """Availability zones."""
    vm_types: tuple[VmType, ...] = ()
    """VM types."""
    vm_extensions: tuple[VmType, ...] = ()
    """Extensions, which a manifest adds to a VM type."""
    disk_types: tuple[DiskType, ...] = ()
    """Types of persistent disks."""
    networks: tuple[Annotated[BoshNetwork, BeforeValidator(_by_type)], ...] = ()
    """Networks."""
    compilation: Compilation | None = None
    """VMs that compile packages."""


LISTS: Final = tuple(name for name in BoshCloudConfig.model_fields if name != "compilation")


class NetworkOfGroup(Named):
    """A network of an instance group."""

    others: ClassVar[tuple[str, ...]] = ("nic_group", "static_ips", "default")


class Update(BoshHash):
    """How VMs are updated."""

    others: ClassVar[tuple[str, ...]] = (
        *("canaries", "max_in_flight", "canary_watch_time", "update_watch_time", "serial"),
        "initial_deploy_az_update_strategy",
    )
    vm_strategy: Text | None = None


class InstanceGroup(Named, OfVms):
    """An instance group."""

    others: ClassVar[tuple[str, ...]] = (
        *("instance_states", "jobs", "lifecycle", "migrated_from", "properties", "state"),
        *("tags", "persistent_disk_pool", "resource_pool", "template", "templates"),
    )
    instances: StrictInt
    networks: tuple[NetworkOfGroup, ...]
    azs: tuple[Any, ...] = ()
    env: Json = Field(default_factory=dict)
    stemcell: Text | None = None
    persistent_disk: Annotated[int, Field(strict=True, ge=0)] | None = None
    persistent_disk_type: Text | None = None
    persistent_disks: tuple[Any, ...] = ()
    update: Update = Update()


_NO_DISK: Final = "the VMs get no persistent disk, and what is on one that they have is gone"
COSTS: Final = {
    **dict.fromkeys(
        ("persistent_disk", "persistent_disk_type", "persistent_disk_pool", "persistent_disks"), _NO_DISK
    ),
    "migrated_from": "the VMs are new ones with new, empty disks",
    "vm_extensions": "the VMs don't have these cloud properties",
    "static_ips": "BOSH chooses the addresses",
}
"""What it costs if one of these keys is not read, because it is written otherwise."""


class Manifest(BoshHash):
    """A deployment manifest."""

    others: ClassVar[tuple[str, ...]] = (
        *("name", "release", "releases", "stemcells", "variables", "features", "addons", "properties"),
    )
    instance_groups: tuple[InstanceGroup, ...] = ()
    tags: Json = Field(default_factory=dict)
    update: Update = Update()


class ResourcePool(Named):
    """A resource pool of create-env."""

    others: ClassVar[tuple[str, ...]] = ("size", "env", "stemcell")
    network: Text
    cloud_properties: VmProperties = VmProperties()


class CreateEnvSubnet(OfInterfaces):
    """A subnet of create-env, without azs."""

    others: ClassVar[tuple[str, ...]] = ("reserved", "static")
    range: str
    gateway: str


class CreateEnvNetwork(Named):
    """A network of create-env."""

    others: ClassVar[tuple[str, ...]] = ("ip", "netmask", "gateway", "dns")
    type: Literal["manual", "dynamic", "vip"]
    subnets: tuple[CreateEnvSubnet, ...] = ()
    cloud_properties: NetworkCloudProperties = NetworkCloudProperties()


class CreateEnvGroup(Named):
    """The instance group of create-env."""

    others: ClassVar[tuple[str, ...]] = ("jobs", "lifecycle", "properties", "templates")
    resource_pool: Text
    networks: tuple[NetworkOfGroup, ...]
    instances: StrictInt | None = None
    persistent_disk: StrictInt | None = None
    persistent_disk_pool: Text | None = None


class CreateEnv(BoshHash):
    """A manifest for create-env."""

    others: ClassVar[tuple[str, ...]] = (*Manifest.others, "tags", "update", "cloud_provider")
    resource_pools: tuple[ResourcePool, ...] = ()
    disk_pools: tuple[DiskType, ...] = ()
    networks: tuple[CreateEnvNetwork, ...] = ()
    instance_groups: tuple[CreateEnvGroup, ...] = ()
    jobs: tuple[CreateEnvGroup, ...] = ()


@cache
def keys_in(model: type[Properties]) -> dict[str, type[Properties] | None]:
    """The keys of a hash, and the models of the hashes that they hold, also in lists."""
    found: dict[str, type[Properties] | None] = {}
    for name, field in model.model_fields.items():
        parts = (each for each in parts_of(field.annotation) if isinstance(each, type))
        found[name] = next((each for each in parts if issubclass(each, Properties)), None)
    if model is VmProperties:
        found["metadata_options"] = MetadataOptions
    others = model.others if issubclass(model, BoshHash) else ()
    return found | dict.fromkeys(OTHER_SPELLINGS if model is MetadataOptions else others)


@cache
def models_in(model: type[Properties]) -> Sequence[tuple[str, type[Properties]]]:
    """Yield the path of each hash in a hash, as "cloud_properties of vm_types", and its model."""
    found: list[tuple[str, type[Properties]]] = []
    for name, inner in keys_in(model).items():
        if inner is not None:
            within = models_in(of_network({}) if inner is BoshNetwork else inner)
            found += [(name, inner), *((f"{path} of {name}", each) for path, each in within)]
    return found


def parts_of(annotation: object) -> Iterator[object]:
    """A type, and what it is made of."""
    yield annotation
    for each in get_args(annotation):
        yield from parts_of(each)
