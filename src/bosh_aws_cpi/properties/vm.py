"""create_vm's cloud properties as manifests give them; networks are in `properties.network`."""

from typing import Any, Self

from pydantic import Field, model_validator

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import (
    Cidr,
    Count,
    Encryptable,
    Mib,
    Price,
    Properties,
    Text,
    Truth,
    chosen,
    parsed,
)

HELP = "See http://bosh.io/docs/aws-cpi.html for the list of supported properties."


class RootDisk(Encryptable):
    """``root_disk``: the volume that the stemcell boots from. No default encrypts it."""

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


class CpuOptions(Properties):
    """``cpu_options``: EC2's CPU options, in snake case."""

    core_count: Count | None = None
    threads_per_core: Count | None = None
    amd_sev_snp: str | None = None
    nested_virtualization: str | None = None


class CreditSpecification(Properties):
    """``credit_specification``: how a burstable type pays for its CPU; the bare word will do."""

    cpu_credits: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        return {"cpu_credits": values} if isinstance(values, str) else values


class CapacityReservation(Properties):
    """``capacity_reservation``: one reservation, a group of them, or which to prefer."""

    id: Text | None = None
    resource_group_arn: str | None = None
    preference: str | None = None


class DedicatedHost(Properties):
    """``dedicated_host``: the host, or the group of hosts, that the VM runs on."""

    id: Text | None = None
    resource_group_arn: str | None = None


class AdvertisedRoute(Properties):
    """One of ``advertised_routes``: a destination that is routed to the VM."""

    table_id: str
    destination: Cidr


class VmProperties(Properties):
    """create_vm's ``cloud_properties``."""

    instance_type: str | None = None
    instance_type_fallbacks: tuple[str, ...] = ()
    availability_zone: str | None = None
    security_groups: tuple[str, ...] = ()
    key_name: str | None = None
    iam_instance_profile: str | None = None
    spot_bid_price: Price | None = None
    spot_ondemand_fallback: Truth = False
    elbs: tuple[str, ...] = ()
    lb_target_groups: tuple[str, ...] = ()
    placement_group: str | None = None
    tenancy: str | None = None
    dedicated_host: DedicatedHost | None = None
    capacity_reservation: CapacityReservation | None = None
    auto_assign_public_ip: Truth = False
    advertised_routes: tuple[AdvertisedRoute, ...] = ()
    source_dest_check: Truth = True
    raw_instance_storage: Truth = False
    ebs_optimized: Truth | None = None
    cpu_options: CpuOptions | None = None
    credit_specification: CreditSpecification | None = None
    metadata_options: Json = Field(default_factory=dict)
    tags: Any = None
    ephemeral_disk: EphemeralDisk = EphemeralDisk()
    root_disk: RootDisk = RootDisk()

    @property
    def instance_types(self) -> list[str]:
        """The type and its fallbacks, in the order in which they are tried."""
        return list(dict.fromkeys([str(self.instance_type), *self.instance_type_fallbacks]))

    @classmethod
    def parse(cls, values: Json) -> Self:
        """Read and check create_vm's cloud properties.

        Raises:
            CloudError: A required one is missing, one has the wrong type, or two exclude each other.
        """
        properties = parsed(cls, values, "cloud_properties")
        required = ("instance_type", "availability_zone")
        missing = [f"cloud_properties.{name}" for name in required if not getattr(properties, name)]
        if missing:
            message = f"Missing properties: {', '.join(missing)}. {HELP}"
            raise CloudError(message)
        properties.check()
        return properties

    def check(self) -> None:
        """Check what the properties say together.

        Raises:
            CloudError: Some exclude each other.
        """
        chosen(self.dedicated_host, "cloud_properties.dedicated_host")
        chosen(self.capacity_reservation, "cloud_properties.capacity_reservation")
        given = {
            "spot_bid_price": self.spot_bid_price is not None,
            "capacity_reservation": self._is_reserved,
            "dedicated_host": self.dedicated_host is not None,
            "placement_group": bool(self.placement_group),
            "tenancy: dedicated": self.tenancy == "dedicated",
        }
        for one, other, why in _EXCLUSIVE:
            if given[one] and given[other]:
                message = f"{one} and {other} exclude each other: {why}"
                raise CloudError(message)

    @property
    def _is_reserved(self) -> bool:
        """Whether the VM must run in a capacity reservation."""
        reservation = self.capacity_reservation
        return reservation is not None and reservation.preference not in {"open", "none"}


_EITHER = "remove one of them"
_EXCLUSIVE = (
    ("spot_bid_price", "capacity_reservation", _EITHER),
    # EC2 user guide, "Capacity Reservations", limitations.
    ("capacity_reservation", "dedicated_host", "a Dedicated Host takes no Capacity Reservation"),
    ("tenancy: dedicated", "dedicated_host", _EITHER),
    # EC2 API reference, SpotPlacement: host tenancy "is not supported for Spot Instances".
    ("spot_bid_price", "dedicated_host", "a Dedicated Host runs no spot VM"),
    # EC2 user guide, "Placement groups", rules and limitations.
    ("placement_group", "dedicated_host", "a Dedicated Host can't be in a placement group"),
)
"""Properties of which a VM can have one, and why."""
