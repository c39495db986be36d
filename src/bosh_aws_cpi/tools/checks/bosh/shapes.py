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
from bosh_aws_cpi.records import EMPTY, Record


class Key(Record):
    """A key of a hash.

    Attributes:
        text: What it is, for editors; empty if the JSON Schema does not have it.
        kind: The type that BOSH demands; None if it takes several.
        is_required: Whether BOSH demands it.
        absent: What is wrong without it, if that is more than "has no NAME".
        hint: What it is, for the remedy when it is absent.
        names: The section of the cloud config that has the entry whose name it is; of a list, each value's.
        may_be_empty: Whether an empty name stands for none.
        words: The values that BOSH takes.
        least: The least number.
        amount: The remedy for a smaller number.
        model: The cloud properties that it holds.
        entries: The shape of the hashes in its list.
        form: What the JSON Schema must know beyond that.
    """

    text: str = ""
    kind: type | None = None
    is_required: bool = False
    absent: str = ""
    hint: str = ""
    names: str = ""
    may_be_empty: bool = False
    words: tuple[str, ...] = ()
    least: int | None = None
    amount: str = ""
    model: type[Properties] | None = None
    entries: "Shape | None" = None
    form: Literal["", "name", "ranges", "prefix", "positive"] = ""


class Shape(Record):
    """A hash.

    Attributes:
        keys: Its keys.
        what: What it is: "a dynamic network".
        refused: Keys that BOSH refuses in it, and what to do.
        refused_values: Keys that BOSH refuses unless they are null, and what to do.
    """

    keys: Mapping[str, Key]
    what: str = ""
    refused: Mapping[str, str] = EMPTY
    refused_values: Mapping[str, str] = EMPTY


def _properties(model: type[Properties], text: str) -> dict[str, Key]:
    return {"cloud_properties": Key(text, dict, model=model)}


_NAME: Final = {"name": Key("Unique name.", str, is_required=True, form="name")}
_OF_VMS: Final = _properties(
    VmProperties, "Properties of VMs in AWS. A type's and its extensions' go before a zone's."
)
_OF_SUBNET: Final = _properties(NetworkCloudProperties, "Subnet and security groups in AWS.")
_ZONES: Final = {
    "az": Key("Availability zone, by the name in `azs`.", str, names="azs"),
    "azs": Key("Availability zones, by name. In AWS a subnet lies in one zone.", list, names="azs"),
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
        "name": _SUBNET_NAME.replaced(
            kind=str,
            is_required=True,
            form="",
            absent="has no name, which a subnet of a managed network needs",
        ),
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
_SUBNETS: Final = Key("Subnets.", list, absent="a manual network needs subnets")
_MANAGED: Final = {"managed": Key("Whether the CPI creates the subnets.")}
_NETWORK: Final = {**_NAME, "type": Key("Type of the network.", str)}
NETWORK: Final = Shape(_NETWORK)
"""What all networks have."""
NETWORKS: Final = {
    "manual": Shape(
        {**_NETWORK, **_MANAGED, "subnets": _SUBNETS.replaced(is_required=True, entries=_MANUAL_SUBNET)},
        "a manual network",
    ),
    "managed": Shape(
        {**_NETWORK, **_MANAGED, "subnets": _SUBNETS.replaced(is_required=True, entries=_MANAGED_SUBNET)},
        "a manual network",
    ),
    "dynamic": Shape(
        {**_NETWORK, "subnets": _SUBNETS.replaced(entries=_DYNAMIC_SUBNET), **_DNS, **_OF_SUBNET},
        "a dynamic network",
        dict.fromkeys(("az", "azs", "managed", "prefix"), "Move it into the subnets, or remove it"),
    ),
    "vip": Shape(
        {
            **_NETWORK,
            "subnets": _SUBNETS.replaced(entries=_VIP_SUBNET),
            "cloud_properties": Key("Not used.", dict),
        },
        "a vip network",
    ),
}
"""The networks by their types; a managed network is a manual one whose subnets the CPI creates."""
NETWORK_TYPES: Final = ("manual", "dynamic", "vip")
VM_RESOURCES: Final = Shape(
    dict.fromkeys(("cpu", "ram", "ephemeral_disk_size"), Key("", int, is_required=True))
)
_VM_KEYS: Final = {
    "vm_type": Key("VM type, by name.", str, names="vm_types"),
    "vm_extensions": Key("VM extensions, by name.", list, names="vm_extensions"),
    "vm_resources": Key("CPU, memory and disk in place of a VM type.", dict),
}
COMPILATION: Final = Shape(
    {
        "workers": Key(
            "Number of VMs that compile packages.",
            int,
            is_required=True,
            hint="the number of VMs that compile",
            least=1,
            amount="Give a number of VMs",
        ),
        "network": Key(
            "Network of these VMs, by name.",
            str,
            is_required=True,
            hint="the name of one of networks",
            names="networks",
        ),
        "az": Key("Availability zone, by name.", str, names="azs", may_be_empty=True),
        **_VM_KEYS,
        "reuse_compilation_vms": Key("Keep the VMs until all packages are compiled.", bool),
        "orphan_workers": Key("Delete the VMs later, in the background.", bool),
        "env": Key("BOSH's environment of the VMs.", dict),
        **_properties(VmProperties, "Cloud properties of these VMs, in place of a VM type."),
    }
)
_DISK_SIZE: Final = Key(
    "MiB.",
    int,
    is_required=True,
    hint="in MiB",
    least=0,  # create_disk refuses 0
    amount="Give the size in MiB, more than 0",
    form="positive",
)
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
        "networks": Key("Networks.", list),
        "compilation": Key("VMs that compile packages.", dict),
    }
)
LISTS: Final = tuple(name for name, key in CLOUD_CONFIG.keys.items() if key.kind is list)
EXTRA: Final = ("x-", "_", ".", "anchors", "meta")
"""Beginnings of top-level keys that people use for YAML anchors; the Director ignores them."""

ERRAND: Final = "errand"
"""The lifecycle of groups whose VMs a deployment does not create."""
_DISK: Final = Key(kind=int, least=0)
INSTANCE_GROUP: Final = Shape(
    {
        "name": Key(kind=str, is_required=True),
        "instances": Key(kind=int, is_required=True),
        "networks": Key(kind=list, is_required=True),
        "azs": Key(kind=list),
        **_VM_KEYS,
        "persistent_disk": _DISK.replaced(amount="Give the size in MiB, or 0 for no disk"),
        "persistent_disk_type": Key(kind=str, names="disk_types"),
        "persistent_disks": Key(kind=list),
        "lifecycle": Key(kind=str, words=("service", ERRAND)),
        "state": Key(kind=str, words=("started", "stopped", "detached", "recreate", "restart")),
        **dict.fromkeys(("env", "jobs", "migrated_from", "properties", "property_mappings"), Key()),
        **dict.fromkeys(("release", "stemcell", "tags", "update"), Key()),
    },
    "an instance group",
    {
        "resource_pool": "Use vm_type",
        "persistent_disk_pool": "Use persistent_disk_type",
    },
    refused_values={"template": "Use jobs", "templates": "Use jobs"},
)
"""Keys without a kind are not checked; newer versions of BOSH may have more."""
NETWORK_OF_GROUP: Final = Shape(
    {
        "name": Key(kind=str, is_required=True, names="networks"),
        "default": Key(kind=list),
        "nic_group": Key(kind=str),
        "static_ips": Key(),
    }
)
MANIFEST: Final = Shape(
    {"instance_groups": Key(kind=list)},
    "a deployment manifest",
    {
        **dict.fromkeys(
            ("azs", "vm_types", "disk_types", "compilation", "networks"), "Move it to the cloud config"
        ),
        **dict.fromkeys(("disk_pools", "resource_pools"), "Use disk_types and vm_types of the cloud config"),
        "jobs": "Use instance_groups",
    },
)
"""It has more keys than these, too."""

_POOL_NAME: Final = Key(kind=str, is_required=True)
_ANY_PROPERTIES: Final = Key(kind=dict)
CREATE_ENV: Final = {
    "resource_pools": Shape(
        {
            "name": _POOL_NAME,
            "network": Key(is_required=True, hint="the name of one of networks", names="networks"),
            "cloud_properties": _ANY_PROPERTIES,
            **dict.fromkeys(("size", "env", "stemcell"), Key()),
        }
    ),
    "disk_pools": Shape(
        {
            "name": _POOL_NAME,
            "disk_size": _DISK_SIZE.replaced(amount="Give the size in MiB"),
            "cloud_properties": _ANY_PROPERTIES,
        }
    ),
    "networks": Shape(
        {
            "name": _POOL_NAME,
            "cloud_properties": _ANY_PROPERTIES,
            **dict.fromkeys(("type", "subnets", "ip", "netmask", "gateway", "dns"), Key()),
        }
    ),
}
"""The entries of a create-env manifest's lists, as bosh-cli reads them."""
CREATE_ENV_SUBNET: Final = Shape(
    {
        **dict.fromkeys(("range", "gateway"), Key(is_required=True)),
        **dict.fromkeys(("cloud_properties", "dns", "static", "reserved", "az", "azs"), Key()),
    }
)
CREATE_ENV_GROUP: Final = Shape(
    {
        "resource_pool": Key(is_required=True, names="resource_pools"),
        "persistent_disk_pool": Key(names="disk_pools"),
        "instances": Key(kind=int, least=0, amount="Use 0 or more"),
        "persistent_disk": _DISK.replaced(amount="Use 0 or more"),
        **dict.fromkeys(("name", "networks", "jobs", "lifecycle"), Key()),
    }
)
CREATE_ENV_GROUP_NETWORK: Final = Shape(
    {"name": Key(is_required=True, names="networks"), **dict.fromkeys(("static_ips", "default"), Key())}
)
