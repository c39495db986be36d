"""What BOSH reads in cloud configs and manifests: keys, types, what must be there, and what names what.

The rules of the Director and of bosh-cli, which change with BOSH and not with the CPI, as tables. `cpi check`
and docs/cloud-config.schema.json follow them. Sources: BOSH, src/bosh-director/lib/bosh/director:
cloud_manifest_parser.rb, the parsers of networks, subnets, the compilation and instance groups in
deployment_plan; bosh-cli, deployment/manifest/parser.go and validator.go.
"""

from collections.abc import Mapping
from typing import Final, Literal

from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.managed_network import ManagedNetworkProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import Record


class Key(Record):
    """A key of a hash.

    Attributes:
        text: What it is, for editors; empty if the JSON Schema does not have it.
        kind: The type that BOSH demands; None if it takes several.
        is_required: Whether BOSH demands it.
        words: The values that BOSH takes.
        model: The cloud properties that it holds.
        entries: The shape of its hash, or of those in its list.
        form: What the JSON Schema must know beyond that.
    """

    text: str = ""
    kind: type | None = None
    is_required: bool = False
    words: tuple[str, ...] = ()
    model: type[Properties] | None = None
    entries: "Shape | None" = None
    form: Literal["", "name", "names", "ranges", "prefix", "positive"] = ""


class Shape(Record):
    """A hash.

    Attributes:
        keys: Its keys.
        is_whole: Whether it has no others: newer versions of BOSH may add keys to manifests.
    """

    keys: Mapping[str, Key]
    is_whole: bool = True


def _properties(model: type[Properties], text: str) -> dict[str, Key]:
    return {"cloud_properties": Key(text, dict, model=model)}


_NAME: Final = {"name": Key("Unique name.", str, is_required=True, form="name")}
_OF_VMS: Final = _properties(
    VmProperties, "Properties of VMs in AWS. A type's and its extensions' go before a zone's."
)
_OF_SUBNET: Final = _properties(NetworkCloudProperties, "Subnet and security groups in AWS.")
_ZONES: Final = {
    "az": Key("Availability zone, by the name in `azs`.", str, form="name"),
    "azs": Key("Availability zones, by name. In AWS a subnet lies in one zone.", list, form="names"),
}
_DNS: Final = {"dns": Key("Addresses of the DNS servers.", list)}
_PREFIX: Final = {
    "prefix": Key("Prefix length of what each VM gets. Default: a single address.", form="prefix")
}
_BITS: Final = {
    "netmask_bits": Key(
        "Of a managed network: size of the free range that the CPI chooses without a range.", int
    )
}
_RANGES: Final = "Addresses, and ranges as `10.0.1.4-10.0.1.9` or in CIDR notation."
_RANGE: Final = Key("The subnet's range in CIDR notation.", str, is_required=True)
_GATEWAY: Final = Key("AWS's router: the first address of the range.", str, is_required=True)
_OF_RANGE: Final = {
    "range": _RANGE,
    "gateway": _GATEWAY,
    "reserved": Key(_RANGES, form="ranges"),
    "static": Key(_RANGES, form="ranges"),
}
_SUBNET_NAME: Final = Key("Unique name of the subnet, for managed networks.", form="name")
_COMMON: Final = {**_ZONES, **_PREFIX, "name": _SUBNET_NAME}
_MANUAL_SUBNET: Final = Shape({**_COMMON, **_OF_RANGE, **_DNS, **_BITS, **_OF_SUBNET})
_MANAGED_SUBNET: Final = Shape(
    {
        **_MANUAL_SUBNET.keys,
        "name": _SUBNET_NAME.replaced(kind=str, is_required=True, form=""),
        "range": _RANGE.replaced(is_required=False),
        "gateway": _GATEWAY.replaced(is_required=False),
        **_properties(
            ManagedNetworkProperties, "The subnet to create; the azs' properties are merged into it."
        ),
    }
)
_DYNAMIC_SUBNET: Final = Shape(
    {**_COMMON, "prefix": _PREFIX["prefix"].replaced(kind=int), **_DNS, **_OF_SUBNET}
)
_VIP_SUBNET: Final = Shape({**_COMMON, "static": Key(_RANGES, list, form="ranges")})
_SUBNETS: Final = Key("Subnets.", list)
_MANAGED: Final = {"managed": Key("Whether the CPI creates the subnets.")}
NETWORK_TYPES: Final = ("manual", "dynamic", "vip")
_NETWORK: Final = {**_NAME, "type": Key("Type of the network.", str, words=NETWORK_TYPES)}
NETWORK: Final = Shape(_NETWORK, is_whole=False)
"""What all networks have."""
NETWORKS: Final = {
    "manual": Shape(
        {**_NETWORK, **_MANAGED, "subnets": _SUBNETS.replaced(is_required=True, entries=_MANUAL_SUBNET)}
    ),
    "managed": Shape(
        {**_NETWORK, **_MANAGED, "subnets": _SUBNETS.replaced(is_required=True, entries=_MANAGED_SUBNET)}
    ),
    "dynamic": Shape(
        {**_NETWORK, "subnets": _SUBNETS.replaced(entries=_DYNAMIC_SUBNET), **_DNS, **_OF_SUBNET}
    ),
    "vip": Shape(
        {
            **_NETWORK,
            "subnets": _SUBNETS.replaced(entries=_VIP_SUBNET),
            "cloud_properties": Key("Not used.", dict),
        }
    ),
}
"""The networks by their types; a managed network is a manual one whose subnets the CPI creates."""


def of_network(value: Mapping[str, object]) -> Shape:
    """The shape of a network."""
    kind = value.get("type", "manual")
    return NETWORKS.get("managed" if kind == "manual" and value.get("managed") else str(kind), NETWORK)


VM_RESOURCES: Final = Shape(
    {
        "cpu": Key("Number of CPUs.", int, is_required=True),
        "ram": Key("MiB of memory.", int, is_required=True),
        "ephemeral_disk_size": Key("MiB of the ephemeral disk.", int, is_required=True),
    }
)
_VM_KEYS: Final = {
    "vm_type": Key("VM type, by name.", str, form="name"),
    "vm_extensions": Key("VM extensions, by name.", list, form="names"),
    "vm_resources": Key("CPU, memory and disk in place of a VM type.", dict, entries=VM_RESOURCES),
}
COMPILATION: Final = Shape(
    {
        "workers": Key("Number of VMs that compile packages.", int, is_required=True, form="positive"),
        "network": Key("Network of these VMs, by name.", str, is_required=True, form="name"),
        "az": Key("Availability zone, by name.", str, form="name"),
        **_VM_KEYS,
        "reuse_compilation_vms": Key("Keep the VMs until all packages are compiled.", bool),
        "orphan_workers": Key("Delete the VMs later, in the background.", bool),
        "env": Key("BOSH's environment of the VMs.", dict),
        **_properties(VmProperties, "Cloud properties of these VMs, in place of a VM type."),
    }
)
_DISK_SIZE: Final = Key("MiB.", int, is_required=True, form="positive")
_DISK_TYPE: Final = Shape(
    {**_NAME, "disk_size": _DISK_SIZE, **_properties(DiskProperties, "Properties of disks in AWS.")}
)
CLOUD_CONFIG: Final = Shape(
    {
        "azs": Key(
            "Availability zones.",
            list,
            entries=Shape({**_NAME, "cpi": Key("Name of the CPI in the CPI config.", str), **_OF_VMS}),
        ),
        "vm_types": Key("VM types.", list, entries=Shape({**_NAME, **_OF_VMS})),
        "vm_extensions": Key(
            "Extensions, which a manifest adds to a VM type.", list, entries=Shape({**_NAME, **_OF_VMS})
        ),
        "disk_types": Key("Types of persistent disks.", list, entries=_DISK_TYPE),
        "networks": Key("Networks.", list, entries=NETWORK),
        "compilation": Key("VMs that compile packages.", dict, entries=COMPILATION),
    }
)
LISTS: Final = tuple(name for name, key in CLOUD_CONFIG.keys.items() if key.kind is list)
EXTRA: Final = ("x-", "_", ".", "anchors", "meta")
"""Beginnings of top-level keys that people use for YAML anchors; the Director ignores them."""

ERRAND: Final = "errand"
"""The lifecycle of groups whose VMs a deployment does not create."""


def _unread(*names: str) -> dict[str, Key]:
    """Keys that are not looked at."""
    return dict.fromkeys(names, Key())


_NETWORK_OF_GROUP: Final = Shape(
    {"name": Key(kind=str, is_required=True), "nic_group": Key(kind=str), **_unread("static_ips", "default")}
)
INSTANCE_GROUP: Final = Shape(
    {
        "name": Key(kind=str, is_required=True),
        "instances": Key(kind=int, is_required=True),
        "networks": Key(kind=list, is_required=True, entries=_NETWORK_OF_GROUP),
        "azs": Key(kind=list),
        **_VM_KEYS,
        "persistent_disk": Key(kind=int),
        "persistent_disk_type": Key(kind=str),
        "persistent_disks": Key(kind=list),
        **_unread("lifecycle", "state", "env", "jobs", "migrated_from", "properties", "property_mappings"),
        **_unread("release", "stemcell", "tags", "update"),
    },
    is_whole=False,
)
_OF_MANIFESTS: Final = _unread(
    "name", "releases", "stemcells", "update", "variables", "tags", "features", "addons"
)
MANIFEST: Final = Shape(
    {"instance_groups": Key(kind=list, entries=INSTANCE_GROUP), **_OF_MANIFESTS}, is_whole=False
)

_POOL: Final = {"name": Key(kind=str, is_required=True), "cloud_properties": Key(kind=dict)}
_SUBNET_OF_CREATE_ENV: Final = Shape(
    {
        **dict.fromkeys(("range", "gateway"), Key(is_required=True)),
        "cloud_properties": Key(kind=dict),
        **_unread("dns", "static", "reserved", "az", "azs"),
    },
    is_whole=False,
)
_GROUP_OF_CREATE_ENV: Final = Shape(
    {
        "name": Key(is_required=True),
        "resource_pool": Key(is_required=True),
        "networks": Key(kind=list, is_required=True, entries=_NETWORK_OF_GROUP),
        "instances": Key(kind=int),
        "persistent_disk": Key(kind=int),
        **_unread("persistent_disk_pool", "jobs", "lifecycle", "properties"),
    },
    is_whole=False,
)
CREATE_ENV: Final = Shape(
    {
        "resource_pools": Key(
            kind=list,
            entries=Shape({**_POOL, "network": Key(is_required=True), **_unread("size", "env", "stemcell")}),
        ),
        "disk_pools": Key(kind=list, entries=Shape({**_POOL, "disk_size": _DISK_SIZE})),
        "networks": Key(
            kind=list,
            entries=Shape(
                {
                    **_POOL,
                    "type": Key(is_required=True, words=NETWORK_TYPES),
                    "subnets": Key(kind=list, entries=_SUBNET_OF_CREATE_ENV),
                    **_unread("ip", "netmask", "gateway", "dns"),
                }
            ),
        ),
        **dict.fromkeys(("instance_groups", "jobs"), Key(kind=list, entries=_GROUP_OF_CREATE_ENV)),
        **_OF_MANIFESTS,
        **_unread("cloud_provider"),
    },
    is_whole=False,
)
"""A manifest for create-env, as bosh-cli reads it."""
