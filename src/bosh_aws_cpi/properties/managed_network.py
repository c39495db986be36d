"""The definition of a managed network that the Director passes to create_network."""

from collections.abc import Iterator
from ipaddress import IPv4Network, ip_network
from typing import Annotated, Any, Final

from pydantic import Field

from bosh_aws_cpi.properties.types import WHOLE, Cidr, Groups, Problem, Properties, RouteTableId, Truth, id_of

_LENGTHS: Final = range(16, 29)
"""The prefix lengths that EC2 allows for a subnet (EC2 API reference, CreateSubnet)."""


class ManagedNetworkProperties(Properties):
    """A managed network's ``cloud_properties``, in which the Director includes those of its azs."""

    vpc_id: Annotated[str, id_of("vpc")] | None = None
    """Id of the VPC in which the CPI creates the subnet. Required."""
    availability_zone: str | None = None
    """Zone of the subnet; usually part of the az's `cloud_properties`. Default: EC2's choice."""
    route_table: RouteTableId | None = None
    """Id of the subnet's route table. Default: the VPC's main one."""
    network_acl: Annotated[str, id_of("acl")] | None = None
    """Id of the subnet's network ACL. Default: the VPC's default one."""
    ipv6: Truth = False
    """Give the subnet a free /64 of the VPC's IPv6 ranges, too."""
    auto_assign_public_ip: Truth = False
    """Set the subnet to assign public addresses. VMs of this CPI follow their own `auto_assign_public_ip`."""
    security_groups: Groups = ()
    """[Names or ids](network-interfaces.md#security-groups) for the VMs in this network."""
    tags: Any = None
    """Hash. The CPI sets these tags when it creates the subnet."""


class ManagedNetwork(Properties):
    """create_network's argument."""

    type: str = "manual"
    """Must be `manual`."""
    range: Cidr | None = None
    """IPv4 range of the subnet, `/16` to `/28`, in a range of the VPC. Default: a free one."""
    netmask_bits: Annotated[int, Field(strict=True), WHOLE] | None = None
    """Size of the free range that the CPI chooses if there is no `range`, `16` to `28`. Default: `24`."""
    gateway: str | None = None
    """Must be the second address of the subnet, where AWS's router is. Default: the second address."""
    cloud_properties: ManagedNetworkProperties = ManagedNetworkProperties()
    """[Its own table](#cloud_properties-of-a-managed-network)."""

    def problems(self) -> Iterator[Problem]:
        """Why create_network refuses it, though each value has the right type."""
        if self.type != "manual":
            yield Problem("type", f"network.type: only manual networks can be managed, not '{self.type}'")
        if not self.cloud_properties.vpc_id:
            key = "cloud_properties.vpc_id"
            yield Problem(key, f"Missing properties: network.{key}, the VPC of the managed network")
        yield from self._range_problems()
        yield from self._gateway_problems()

    @property
    def vpc_id(self) -> str:
        """The VPC; `problems` says if it is not set."""
        return str(self.cloud_properties.vpc_id)

    @property
    def subnet_range(self) -> IPv4Network | None:
        """``range``, parsed; None if it is not set, or not IPv4."""
        network = None if self.range is None else ip_network(self.range)
        return network if isinstance(network, IPv4Network) else None

    def _range_problems(self) -> Iterator[Problem]:
        """Yield a size that EC2 does not allow, and a contradiction of ``range`` and ``netmask_bits``."""
        wanted, bits = self.subnet_range, self.netmask_bits
        if self.range is not None and wanted is None:
            text = f"network.range must be IPv4, not {self.range}. For IPv6, also set cloud_properties.ipv6"
            yield Problem("range", text)
        given = None if wanted is None else wanted.prefixlen
        for key, length in (("range", given), ("netmask_bits", bits)):
            if length is not None and length not in _LENGTHS:
                yield Problem(key, f"network.{key}: AWS allows subnets from /16 to /28, not /{length}")
        if given is not None and bits is not None and bits != given:
            text = f"network.range is {wanted}, but network.netmask_bits is {bits}: remove one of them"
            yield Problem("range", text)

    def _gateway_problems(self) -> Iterator[Problem]:
        """Yield a gateway other than AWS's router, the second address (VPC user guide, "Subnet sizing")."""
        if self.gateway is None:
            return
        if self.range is None:
            yield Problem("gateway", "network.gateway needs network.range: set both, or remove gateway")
        if self.subnet_range is None:
            return
        router = str(self.subnet_range[1])
        if self.gateway != router:
            text = f"network.gateway must be {router}, where AWS's router is, not '{self.gateway}'"
            yield Problem("gateway", text)
