"""What BOSH reads in cloud configs and manifests, with the cloud properties in it: keys and types.

`cpi check` and docs/cloud-config.schema.json follow these models; no method of the CPI reads them. Sources:
BOSH, src/bosh-director/lib/bosh/director: cloud_manifest_parser.rb, and the parsers of networks, subnets, the
compilation and instance groups in deployment_plan; bosh-cli, deployment/manifest/parser.go.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args

from pydantic import Field, StrictBool, StrictInt
from pydantic.fields import FieldInfo

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.managed_network import ManagedNetworkProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Properties, Text
from bosh_aws_cpi.properties.vm import MetadataOptions, VmProperties


class Holds(NamedTuple):
    """Marks a hash of cloud properties, which the methods' own models check."""

    model: type[Properties]


OfVm = Annotated[Json, Holds(VmProperties), Field(default_factory=dict)]
OfDisk = Annotated[Json, Holds(DiskProperties), Field(default_factory=dict)]
OfSubnet = Annotated[Json, Holds(NetworkCloudProperties), Field(default_factory=dict)]
OfManaged = Annotated[Json, Holds(ManagedNetworkProperties), Field(default_factory=dict)]
Positive = Annotated[int, Field(strict=True, json_schema_extra={"minimum": 1})]
Length = Annotated[Any, Field(json_schema_extra={"anyOf": [{"type": "integer"}, {"type": "string"}]})]
NETWORK_TYPES: Final = ("manual", "dynamic", "vip")
ERRAND: Final = "errand"
"""The lifecycle of groups whose VMs a deployment does not create."""
EXTRA: Final = ("x-", "_", ".", "anchors", "meta")
"""Beginnings of top-level keys that people use for YAML anchors; the Director ignores them."""


class Bosh(Properties):
    """A hash that BOSH reads."""

    may_have_more: ClassVar[bool] = False
    """Whether newer versions of BOSH may read other keys, too."""


class Named(Bosh):
    """An entry of a list."""

    name: Text
    """Unique name."""


class Az(Named):
    """An availability zone."""

    cpi: Text | None = None
    """Name of the CPI in the CPI config."""
    cloud_properties: OfVm
    """Properties of VMs in AWS. A type's and its extensions' go before a zone's."""


class VmType(Named):
    """A VM type, or an extension."""

    cloud_properties: OfVm
    """Properties of VMs in AWS. A type's and its extensions' go before a zone's."""


class DiskType(Named):
    """A type of persistent disks."""

    disk_size: Positive
    """MiB."""
    cloud_properties: OfDisk
    """Properties of disks in AWS."""


class Subnet(Bosh):
    """What all subnets have."""

    name: Text | None = None
    """Unique name of the subnet, for managed networks."""
    az: Text | None = None
    """Availability zone, by the name in `azs`."""
    azs: tuple[Text, ...] = ()
    """Availability zones, by name. In AWS a subnet lies in one zone."""
    prefix: Length = None
    """Prefix length of what each VM gets. Default: a single address."""


class DynamicSubnet(Subnet):
    """A subnet in which AWS chooses the addresses."""

    prefix: StrictInt | None = None
    """Prefix length, which can only be that of a single address."""
    dns: tuple[str, ...] = ()
    """Addresses of the DNS servers."""
    cloud_properties: OfSubnet
    """Subnet and security groups in AWS."""


class ManualSubnet(Subnet):
    """A subnet in which BOSH chooses the addresses."""

    range: str
    """The subnet's range in CIDR notation."""
    gateway: str
    """AWS's router: the first address of the range."""
    reserved: Any = None
    """Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."""
    static: Any = None
    """Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."""
    dns: tuple[str, ...] = ()
    """Addresses of the DNS servers."""
    netmask_bits: StrictInt | None = None
    """Size of the free range that the CPI chooses for a managed network without a range."""
    cloud_properties: OfSubnet
    """Subnet and security groups in AWS."""


class ManagedSubnet(ManualSubnet):
    """A subnet that the CPI creates."""

    name: str
    """Unique name of the subnet."""
    range: str | None = None  # type: ignore[assignment]  # the CPI can choose it
    """The subnet's range in CIDR notation."""
    gateway: str | None = None  # type: ignore[assignment]  # the same
    """AWS's router: the first address of the range."""
    cloud_properties: OfManaged
    """The subnet to create; the azs' properties are merged into it."""


class VipSubnet(Subnet):
    """Elastic IPs."""

    static: tuple[Any, ...] = ()
    """Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."""


class Network(Named):
    """What all networks have."""

    may_have_more: ClassVar[bool] = True
    type: Literal["manual", "dynamic", "vip"] = "manual"
    """Type of the network."""


class ManualNetwork(Network):
    """A network in which BOSH chooses the addresses."""

    may_have_more: ClassVar[bool] = False
    managed: Any = None
    """Whether the CPI creates the subnets."""
    subnets: tuple[ManualSubnet, ...]
    """Subnets."""


class ManagedNetwork(ManualNetwork):
    """A manual network whose subnets the CPI creates."""

    subnets: tuple[ManagedSubnet, ...]
    """Subnets."""


class DynamicNetwork(Network):
    """A network in which AWS chooses the addresses."""

    may_have_more: ClassVar[bool] = False
    subnets: tuple[DynamicSubnet, ...] = ()
    """Subnets."""
    dns: tuple[str, ...] = ()
    """Addresses of the DNS servers."""
    cloud_properties: OfSubnet
    """Subnet and security groups in AWS."""


class VipNetwork(Network):
    """A network of elastic IPs."""

    may_have_more: ClassVar[bool] = False
    subnets: tuple[VipSubnet, ...] = ()
    """Subnets."""
    cloud_properties: Json = Field(default_factory=dict)
    """Not used."""


NETWORKS: Final[Mapping[str, type[Network]]] = {
    "manual": ManualNetwork,
    "managed": ManagedNetwork,
    "dynamic": DynamicNetwork,
    "vip": VipNetwork,
}
"""The networks by their types; a managed network is a manual one whose subnets the CPI creates."""


def of_network(value: Mapping[str, object]) -> type[Network]:
    """The model of a network."""
    kind = value.get("type") or "manual"
    return NETWORKS.get("managed" if kind == "manual" and value.get("managed") else str(kind), Network)


class VmResources(Bosh):
    """``vm_resources``."""

    cpu: StrictInt
    """Number of CPUs."""
    ram: StrictInt
    """MiB of memory."""
    ephemeral_disk_size: StrictInt
    """MiB of the ephemeral disk."""


class OfVms(Bosh):
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
    cloud_properties: OfVm
    """Cloud properties of these VMs, in place of a VM type."""


class CloudConfig(Bosh):
    """A cloud config."""

    azs: tuple[Az, ...] = ()
    """Availability zones."""
    vm_types: tuple[VmType, ...] = ()
    """VM types."""
    vm_extensions: tuple[VmType, ...] = ()
    """Extensions, which a manifest adds to a VM type."""
    disk_types: tuple[DiskType, ...] = ()
    """Types of persistent disks."""
    networks: tuple[Network, ...] = ()
    """Networks."""
    compilation: Compilation | None = None
    """VMs that compile packages."""


LISTS: Final = tuple(name for name in CloudConfig.model_fields if name != "compilation")


class NetworkOfGroup(Named):
    """A network of an instance group."""

    nic_group: Text | None = None
    static_ips: Any = None
    default: Any = None


class InstanceGroup(Named, OfVms):
    """An instance group."""

    may_have_more: ClassVar[bool] = True
    instances: StrictInt
    networks: tuple[NetworkOfGroup, ...]
    azs: tuple[Any, ...] = ()
    persistent_disk: StrictInt | None = None
    persistent_disk_type: Text | None = None
    persistent_disks: tuple[Any, ...] = ()
    env: Any = None
    jobs: Any = None
    lifecycle: Any = None
    properties: Any = None
    stemcell: Any = None
    tags: Any = None
    update: Any = None


class AnyManifest(Bosh):
    """Keys of manifests that are not looked at."""

    may_have_more: ClassVar[bool] = True
    name: Any = None
    releases: Any = None
    stemcells: Any = None
    update: Any = None
    variables: Any = None
    tags: Any = None
    features: Any = None
    addons: Any = None


class Manifest(AnyManifest):
    """A deployment manifest."""

    instance_groups: tuple[InstanceGroup, ...] = ()


class ResourcePool(Named):
    """A resource pool of create-env."""

    network: Text
    cloud_properties: Json = Field(default_factory=dict)
    size: Any = None
    env: Any = None
    stemcell: Any = None


class DiskPool(Named):
    """A disk pool of create-env."""

    disk_size: Positive
    cloud_properties: Json = Field(default_factory=dict)


class CreateEnvSubnet(Bosh):
    """A subnet of create-env."""

    may_have_more: ClassVar[bool] = True
    range: str
    gateway: str
    cloud_properties: Json = Field(default_factory=dict)
    dns: Any = None
    static: Any = None
    reserved: Any = None
    az: Any = None
    azs: Any = None


class CreateEnvNetwork(Named):
    """A network of create-env."""

    type: Literal["manual", "dynamic", "vip"]
    subnets: tuple[CreateEnvSubnet, ...] = ()
    cloud_properties: Json = Field(default_factory=dict)
    ip: Any = None
    netmask: Any = None
    gateway: Any = None
    dns: Any = None


class CreateEnvGroup(Named):
    """The instance group of create-env."""

    may_have_more: ClassVar[bool] = True
    resource_pool: Text
    networks: tuple[NetworkOfGroup, ...]
    instances: StrictInt | None = None
    persistent_disk: StrictInt | None = None
    persistent_disk_pool: Any = None
    jobs: Any = None
    lifecycle: Any = None
    properties: Any = None


class CreateEnv(AnyManifest):
    """A manifest for create-env."""

    resource_pools: tuple[ResourcePool, ...] = ()
    disk_pools: tuple[DiskPool, ...] = ()
    networks: tuple[CreateEnvNetwork, ...] = ()
    instance_groups: tuple[CreateEnvGroup, ...] = ()
    jobs: tuple[CreateEnvGroup, ...] = ()
    cloud_provider: Any = None


class AnyNetwork(ManualNetwork, DynamicNetwork):  # only its keys count
    """A network of any type."""

    subnets: tuple[ManualSubnet, ...]  # type: ignore[assignment]


class AnyFile(Manifest, CloudConfig):
    """A cloud config or a manifest: the keys that lead to what is checked."""

    networks: tuple[AnyNetwork, ...] = ()
    resource_pools: tuple[VmType, ...] = ()
    disk_pools: tuple[DiskType, ...] = ()


def keys_in(model: type[Properties]) -> dict[str, type[Properties] | None]:
    """The keys of a hash, and the models of the hashes that they hold, also in lists."""
    found = {name: held_by(field) for name, field in model.model_fields.items()}
    return {**found, "metadata_options": MetadataOptions} if model is VmProperties else found


def held_by(field: FieldInfo) -> type[Properties] | None:
    """The model of the hash that a key holds, or of the hashes in its list; None without one."""
    if (held := next((each.model for each in field.metadata if isinstance(each, Holds)), None)) is not None:
        return held
    parts = (field.annotation, *get_args(field.annotation))
    return next((each for each in parts if isinstance(each, type) and issubclass(each, Properties)), None)
