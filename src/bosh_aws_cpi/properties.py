"""Cloud properties and networks as manifests give them.

Unknown keys are no error, since manifests carry keys of other versions; they are logged.
A known property that is not there yet is refused by name, never silently left out.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal, Self

from pydantic import Field

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import type_name
from bosh_aws_cpi.model import Json
from bosh_aws_cpi.property_types import Count, Encryptable, Mib, Properties, Text, Truth, parsed, refuse

HELP = "See http://bosh.io/docs/aws-cpi.html for the list of supported properties."


class RootDisk(Properties):
    """``root_disk``: the volume that the stemcell boots from."""

    size: Mib | None = None
    type: str = "gp3"
    iops: Count | None = None
    throughput: Count | None = None


class EphemeralDisk(Encryptable):
    """``ephemeral_disk``: the volume that lives as long as the VM."""

    size: Mib | None = None
    type: str = "gp3"
    iops: Count | None = None
    throughput: Count | None = None
    use_root_disk: Truth = False
    use_instance_storage: Truth = False


_OTHER_SPELLINGS = {"http_protocol_ipv_6": "http_protocol_ipv6"}
"""The spelling that the Ruby CPI takes."""


class MetadataOptions(Properties):
    """EC2's instance metadata options, in snake case."""

    http_endpoint: str | None = None
    http_protocol_ipv6: str | None = None
    http_put_response_hop_limit: Count | None = None
    http_tokens: str | None = None
    instance_metadata_tags: str | None = None

    @classmethod
    def parse(cls, defaults: Json, own: Json) -> Json:
        """Read and check the options, a VM's own over the defaults.

        Returns:
            Those that are given and known.

        Raises:
            CloudError: One has the wrong type.
        """
        merged = {
            _OTHER_SPELLINGS.get(key, key): value for given in (defaults, own) for key, value in given.items()
        }
        options = parsed(cls, merged, "metadata_options")
        return options.model_dump(include=set(cls.model_fields), exclude_none=True)


class VmProperties(Properties):
    """create_vm's ``cloud_properties``."""

    instance_type: str | None = None
    availability_zone: str | None = None
    security_groups: tuple[str, ...] = ()
    key_name: str | None = None
    iam_instance_profile: str | None = None
    placement_group: str | None = None
    tenancy: str | None = None
    metadata_options: Json = Field(default_factory=dict)
    tags: Any = None
    ephemeral_disk: EphemeralDisk = EphemeralDisk()
    root_disk: RootDisk = RootDisk()

    spot_bid_price: Any = None
    spot_ondemand_fallback: Truth = False
    elbs: tuple[str, ...] = ()
    lb_target_groups: tuple[str, ...] = ()
    advertised_routes: tuple[Json, ...] = ()
    auto_assign_public_ip: Truth = False
    raw_instance_storage: Truth = False
    source_dest_check: Truth = True

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check create_vm's cloud properties.

        Raises:
            CloudError: A required one is missing, or one has the wrong type.
            NotSupported: One asks for what this CPI can't do yet.
        """
        properties = parsed(cls, values, "cloud_properties")
        required = ("instance_type", "availability_zone")
        missing = [f"cloud_properties.{name}" for name in required if not getattr(properties, name)]
        if missing:
            message = f"Missing properties: {', '.join(missing)}. {HELP}"
            raise CloudError(message)
        refuse([f"cloud_properties.{name}" for name in properties.not_there_yet()])
        return properties

    def not_there_yet(self) -> list[str]:
        """The properties that ask for what this CPI can't do yet."""
        asked = {
            "spot_bid_price": self.spot_bid_price is not None,
            "elbs": bool(self.elbs),
            "lb_target_groups": bool(self.lb_target_groups),
            "advertised_routes": bool(self.advertised_routes),
            "auto_assign_public_ip": self.auto_assign_public_ip,
            "raw_instance_storage": self.raw_instance_storage,
            "source_dest_check": not self.source_dest_check,
            "ephemeral_disk.use_instance_storage": self.ephemeral_disk.use_instance_storage,
        }
        return [name for name, is_asked in asked.items() if is_asked]


class DiskProperties(Encryptable):
    """create_disk's ``cloud_properties``."""

    type: str = "gp3"
    iops: Count | None = None
    throughput: Count | None = None
    tags: Any = None

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check create_disk's cloud properties.

        Raises:
            CloudError: One has the wrong type.
        """
        return parsed(cls, values, "cloud_properties")


class StemcellProperties(Encryptable):
    """create_stemcell's ``cloud_properties``, with ``aws.stemcell`` merged over them."""

    ami: dict[str, str] = Field(default_factory=dict)
    name: Text | None = None
    version: Text | None = None
    tags: Any = None

    # Every stemcell carries these; they matter to heavy ones and to other clouds.
    architecture: Any = None
    auto_disk_config: Any = None
    boot_mode: Any = None
    container_format: Any = None
    disk: Any = None
    disk_format: Any = None
    hypervisor: Any = None
    infrastructure: Any = None
    kernel_id: Any = None
    os_distro: Any = None
    os_type: Any = None
    root_device_name: Any = None
    virtualization_type: Any = None

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check a stemcell's cloud properties.

        Raises:
            CloudError: One has the wrong type.
        """
        return parsed(cls, values, "cloud_properties")


class NetworkCloudProperties(Properties):
    """A network's ``cloud_properties``."""

    subnet: str | None = None
    security_groups: tuple[str, ...] = ()


class Network(Properties):
    """One of create_vm's networks; for the agent it goes on as it was given."""

    type: str = "manual"
    ip: str | None = None
    prefix: Text | None = None
    nic_group: Text | None = None
    dns: list[str] | None = None
    netmask: str | None = None
    gateway: str | None = None
    default: tuple[str, ...] = ()
    cloud_properties: NetworkCloudProperties = NetworkCloudProperties()

    @property
    def kind(self) -> Literal["manual", "dynamic", "vip"]:
        """``type``, checked."""
        if self.type in {"manual", "dynamic", "vip"}:
            return self.type  # type: ignore[return-value]  # the line above says so
        message = (
            f"Invalid network type '{self.type}' for AWS, "
            "can only handle 'dynamic', 'vip', or 'manual' network types"
        )
        raise CloudError(message)

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """``ip``, read; None when there is none."""
        return ip_address(self.ip) if self.ip else None

    @classmethod
    def parse(cls, name: str, values: object) -> Self:
        """Read and check one network.

        Raises:
            CloudError: It is no hash, of no known type, or its address is none.
        """
        path = f"networks.{name}"
        if not isinstance(values, dict):
            message = f"{path} must be a Hash, got {type_name(values)}"
            raise CloudError(message)
        network = parsed(cls, values, path)
        _ = network.kind
        try:
            _ = network.address
        except ValueError:
            message = f"{path}.ip is no IP address: '{network.ip}'"
            raise CloudError(message) from None
        return network


def parse_networks(networks: Json) -> dict[str, Network]:
    """Read and check create_vm's networks, in their order.

    Raises:
        CloudError: One is no network.
        NotSupported: One asks for what this CPI can't do yet.
    """
    read = {name: Network.parse(name, values) for name, values in networks.items()}
    refuse([f"networks.{name} of type vip" for name, network in read.items() if network.kind == "vip"])
    refuse([f"networks.{name}.prefix" for name, network in read.items() if _is_delegated(network)])
    return read


def _is_delegated(network: Network) -> bool:
    """A prefix that names more than the single address."""
    address = network.address
    return bool(network.prefix and address and network.prefix != str(address.max_prefixlen))
