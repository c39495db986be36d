"""create_vm's networks as manifests give them."""

from collections.abc import Iterator
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Annotated, Final, Literal, Self

from pydantic import Field

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, type_name
from bosh_aws_cpi.properties.types import (
    WHOLE,
    Groups,
    Problem,
    Properties,
    SentWhole,
    SubnetId,
    Text,
    Truth,
    read_properties,
)

DELEGATED_LENGTHS: Final = {4: 28, 6: 80}
"""The one length of prefix that EC2 delegates to an interface, by version of IP."""


class EnaExpress(Properties):
    """``ena_express``: whether an interface uses ENA Express."""

    enabled: Truth = False
    """`true`: TCP between this interface and others with ENA Express uses it."""
    udp: Truth = False
    """`true`: UDP uses it, too. Needs `enabled: true`."""


class ConnectionTracking(SentWhole):
    """``connection_tracking``: EC2's time-outs of idle connections, in snake case.

    The ranges are those of EC2's API model, ConnectionTrackingSpecificationRequest.
    """

    tcp_established_timeout: Annotated[int, Field(strict=True, ge=60, le=432_000), WHOLE] | None = None
    """Seconds for an established TCP connection, 60 to 432000. Default: EC2's for the instance type."""
    udp_stream_timeout: Annotated[int, Field(strict=True, ge=60, le=180), WHOLE] | None = None
    """Seconds for UDP with more than one request and response, 60 to 180. Default: EC2's, `180`."""
    udp_timeout: Annotated[int, Field(strict=True, ge=30, le=60), WHOLE] | None = None
    """Seconds for other UDP, 30 to 60. Default: EC2's, `30`."""


INTERFACE_OPTIONS: Final = ("interface_type", "network_card_index", "ena_express", "connection_tracking")
"""The cloud properties of a network that its interface gets, apart from subnet and security groups."""


class NetworkCloudProperties(Properties):
    """A network's ``cloud_properties``."""

    subnet: SubnetId | None = None
    """Id of the subnet; not needed for vip networks. Required."""
    subnet_fallbacks: tuple[SubnetId, ...] = ()
    """* Ids of subnets to try, in this order, [if the subnet of a dynamic network is
    full](capacity.md#when-a-subnet-is-full)."""
    security_groups: Groups = ()
    """[Names or ids](network-interfaces.md#security-groups)."""
    interface_type: Literal["interface", "efa"] | None = None
    """* `efa`: an [Elastic Fabric Adapter](network-interfaces.md#elastic-fabric-adapters). Default: EC2's,
    `interface`."""
    network_card_index: Annotated[int, Field(strict=True, ge=0), WHOLE] | None = None
    """* [Network card](network-interfaces.md#elastic-fabric-adapters) of the interface. Default: EC2's,
    `0`."""
    ena_express: EnaExpress | None = None
    """* [ENA Express](#ena_express)."""
    connection_tracking: ConnectionTracking | None = None
    """* [Time-outs of idle connections](#connection_tracking) in the security groups."""

    def problems(self, kind: str) -> Iterator[Problem]:
        """Why create_vm refuses the options of the interface, whatever the instance type.

        Args:
            kind: The type of the network.
        """
        if kind != "dynamic" and self.subnet_fallbacks:
            text = f"subnet_fallbacks is for dynamic networks only: remove it from this {kind} network"
            yield Problem("subnet_fallbacks", text)
        for name in INTERFACE_OPTIONS:
            if kind == "vip" and name in self.model_fields_set:
                text = f"{name} is for networks with an interface: remove it from this vip network"
                yield Problem(name, text)
        if self.ena_express and self.ena_express.udp and not self.ena_express.enabled:
            text = "ena_express.udp needs ena_express.enabled: set it to true, or remove udp"
            yield Problem("ena_express.udp", text)


class Network(Properties):
    """One of create_vm's networks; for the agent it goes on as it was given."""

    type: str = "manual"
    """`manual`, `dynamic`, or `vip` for an elastic IP."""
    ip: str | None = None
    """IP address. For a vip network: an allocated elastic IP. If another interface has it, the CPI moves
    it."""
    prefix: Text | None = None
    """Delegates the range `ip`/`prefix` to the interface: `28` for IPv4, `80` for IPv6. `32` and `128` mean a
    single address."""
    nic_group: Text | None = None
    """Manual networks with the same value share an interface. On a vip network: the group or dynamic network
    whose interface gets the elastic IP; by default, the first interface. Default: the network's name."""
    dns: list[str] | None = None
    """Passed to the agent."""
    netmask: str | None = None
    """Passed to the agent."""
    gateway: str | None = None
    """Passed to the agent."""
    default: tuple[str, ...] = ()
    """Passed to the agent."""
    cloud_properties: NetworkCloudProperties = NetworkCloudProperties()
    """[Its own table](#a-networks-cloud_properties)."""

    @property
    def kind(self) -> Literal["manual", "dynamic", "vip"]:
        """``type``, checked."""
        if self.type in {"manual", "dynamic", "vip"}:
            return self.type  # type: ignore[return-value]  # the line above says so
        raise CloudError(
            f"Invalid network type '{self.type}' for AWS, "
            "can only handle 'dynamic', 'vip', or 'manual' network types"
        )

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """``ip``, read, when it is a single address; a delegated prefix is none."""
        return None if self.delegated_prefix else self._ip

    @property
    def delegated_prefix(self) -> str | None:
        """``ip`` and ``prefix`` when they name more than a single address: "10.0.1.16/28"."""
        if self._ip is None or self.prefix is None or self.prefix == str(self._ip.max_prefixlen):
            return None
        return f"{self._ip}/{self.prefix}"

    @cached_property
    def _ip(self) -> IPv4Address | IPv6Address | None:
        return ip_address(self.ip) if self.ip else None

    @classmethod
    def parse(cls, name: str, values: object) -> Self:
        """Read and check one network.

        Raises:
            CloudError: It is no hash, of no known type, or its address is none.
        """
        path = f"networks.{name}"
        if not isinstance(values, dict):
            raise CloudError(f"{path} must be a Hash, got {type_name(values)}")
        network = read_properties(cls, values, path)
        _ = network.kind
        try:
            _ = network.address
        except ValueError:
            raise CloudError(f"{path}.ip is not an IP address: '{network.ip}'") from None
        if network.kind == "manual":
            network.check_prefix(path)
        return network

    def problems(self, name: str) -> Iterator[Problem]:
        """Why create_vm refuses it: its cloud properties contradict it or each other."""
        path = f"networks.{name}.cloud_properties"
        for each in self.cloud_properties.problems(self.kind):
            yield Problem(f"{path}.{each.key}", f"{path}.{each.text}")

    def check_prefix(self, path: str) -> None:
        """Check that EC2 can delegate the prefix, if there is one.

        Raises:
            CloudError: It is no prefix, or not one of the length that EC2 delegates.
        """
        if (prefix := self.delegated_prefix) is None:
            return
        try:
            network = ip_network(prefix)
        except ValueError as error:
            raise CloudError(f"{path}: ip and prefix are not a valid range: {error}") from None
        if network.prefixlen != DELEGATED_LENGTHS[network.version]:
            raise CloudError(
                f"{path}.prefix: EC2 delegates /28 of IPv4 and /80 of IPv6 addresses, not '{prefix}'. "
                f"For a single address leave the prefix out, or give /{network.max_prefixlen}"
            )


def parse_networks(networks: Json) -> dict[str, Network]:
    """Read and check create_vm's networks, in their order.

    Raises:
        CloudError: One is no network.
    """
    return {name: Network.parse(name, values) for name, values in networks.items()}
