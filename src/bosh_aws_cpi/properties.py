"""Cloud properties and networks as manifests give them.

Unknown keys are no error, since manifests carry keys of other versions; they are logged.
A known property that is not there yet is refused by name, never silently left out.
"""

from difflib import get_close_matches
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from bosh_aws_cpi.errors import CloudError, NotSupported
from bosh_aws_cpi.jsontext import type_name
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Encryption, Json

HELP = "See http://bosh.io/docs/aws-cpi.html for the list of supported properties."


def _truth(value: object) -> bool:
    """Only null and false are false, as in Ruby: manifests rely on it."""
    if isinstance(value, str):
        logger.warning("A boolean property is given as a string, which counts as true")
    return value is not None and value is not False


def _as_string(value: object) -> object:
    """A number where a string belongs, as YAML makes of an unquoted one."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Truth = Annotated[bool, BeforeValidator(_truth)]
Text = Annotated[str, BeforeValidator(_as_string)]
Mib = Annotated[int, Field(strict=True, gt=0)]
Count = Annotated[int, Field(strict=True, gt=0)]

_NULL_COUNTS = frozenset({"encrypted", "kms_key_arn"})
"""For these, null is a value: no encryption, no key, whatever the defaults say."""


class _Properties(BaseModel):
    """A hash of properties; one that is null is as good as absent."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        if not isinstance(values, dict):
            return values
        return {key: value for key, value in values.items() if value is not None or key in _NULL_COUNTS}

    def unknown(self, path: str) -> list[str]:
        """Each unknown key with its path and the nearest known name."""
        found = [_hint(f"{path}.{key}", key, type(self)) for key in self.model_extra or {}]
        for name in type(self).model_fields:
            inner = getattr(self, name)
            if isinstance(inner, _Properties):
                found += inner.unknown(f"{path}.{name}")
        return found


class _Encryptable(_Properties):
    encrypted: Truth = False
    kms_key_arn: str | None = None

    def encryption(self, default: Encryption) -> Encryption:
        """What the properties say, else the defaults; a property that is there counts, also when false."""
        given = self.model_fields_set
        return Encryption(
            self.encrypted if "encrypted" in given else default.encrypted,
            self.kms_key_arn if "kms_key_arn" in given else default.kms_key_arn,
        )


class RootDisk(_Properties):
    """``root_disk``: the volume that the stemcell boots from."""

    size: Mib | None = None
    type: str = "gp3"
    iops: Count | None = None
    throughput: Count | None = None


class EphemeralDisk(_Encryptable):
    """``ephemeral_disk``: the volume that lives as long as the VM."""

    size: Mib | None = None
    type: str = "gp3"
    iops: Count | None = None
    throughput: Count | None = None
    use_root_disk: Truth = False
    use_instance_storage: Truth = False


class VmProperties(_Properties):
    """create_vm's ``cloud_properties``."""

    instance_type: str | None = None
    availability_zone: str | None = None
    security_groups: list[str] = []
    key_name: str | None = None
    iam_instance_profile: str | None = None
    placement_group: str | None = None
    tenancy: str | None = None
    metadata_options: Json = {}
    tags: Any = None
    ephemeral_disk: EphemeralDisk = EphemeralDisk()
    root_disk: RootDisk = RootDisk()

    spot_bid_price: Any = None
    spot_ondemand_fallback: Truth = False
    elbs: list[str] = []
    lb_target_groups: list[str] = []
    advertised_routes: list[Json] = []
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
        properties = _parsed(cls, values, "cloud_properties")
        required = ("instance_type", "availability_zone")
        missing = [f"cloud_properties.{name}" for name in required if not getattr(properties, name)]
        if missing:
            message = f"Missing properties: {', '.join(missing)}. {HELP}"
            raise CloudError(message)
        _refuse([f"cloud_properties.{name}" for name in properties.not_there_yet()])
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


class DiskProperties(_Encryptable):
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
        return _parsed(cls, values, "cloud_properties")


class StemcellProperties(_Encryptable):
    """create_stemcell's ``cloud_properties``, with ``aws.stemcell`` merged over them."""

    ami: dict[str, str] = {}
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
        return _parsed(cls, values, "cloud_properties")


class NetworkCloudProperties(_Properties):
    """A network's ``cloud_properties``."""

    subnet: str | None = None
    security_groups: list[str] = []


class Network(_Properties):
    """One of create_vm's networks; for the agent it goes on as it was given."""

    type: str = "manual"
    ip: str | None = None
    prefix: Text | None = None
    nic_group: Text | None = None
    dns: list[str] | None = None
    netmask: str | None = None
    gateway: str | None = None
    default: list[str] = []
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
        network = _parsed(cls, values, path)
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
    parsed = {name: Network.parse(name, values) for name, values in networks.items()}
    _refuse([f"networks.{name} of type vip" for name, network in parsed.items() if network.kind == "vip"])
    _refuse([f"networks.{name}.prefix" for name, network in parsed.items() if _is_delegated(network)])
    return parsed


def _is_delegated(network: Network) -> bool:
    """A prefix that names more than the single address."""
    address = network.address
    return bool(network.prefix and address and network.prefix != str(address.max_prefixlen))


def _refuse(asked: list[str]) -> None:
    if asked:
        message = f"Not supported yet by this CPI: {', '.join(asked)}. Nothing was created"
        raise NotSupported(message)


_Parsed = TypeVar("_Parsed", bound=_Properties)


def _parsed(model: type[_Parsed], values: Json, path: str) -> _Parsed:
    try:
        properties = model.model_validate(values)
    except ValidationError as error:
        raise CloudError(_explained(error, path)) from None
    if unknown := properties.unknown(path):
        logger.warning("Unknown properties are ignored: %s", ", ".join(unknown))
    return properties


def _explained(error: ValidationError, path: str) -> str:
    """Where it is wrong and what belongs there; the value itself may be a secret."""
    problems = [
        f"{'.'.join([path, *map(str, entry['loc'])])}: {entry['msg']}, got {type_name(entry['input'])}"
        for entry in error.errors(include_url=False, include_context=False)
    ]
    return f"Invalid properties: {'; '.join(problems)}"


def _hint(path: str, key: str, model: type[_Properties]) -> str:
    near = get_close_matches(key, list(model.model_fields), n=1)
    return f"{path} (did you mean {near[0]}?)" if near else path
