"""Public addresses: elastic ones, and those that EC2 gives to an instance until its end."""

from typing import Any

from moto.ec2.models import nat_gateways
from moto.ec2.models.elastic_ip_addresses import ElasticAddress, ElasticAddressBackend
from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.instances import InstanceBackend
from moto.ec2.models.nat_gateways import NatGatewayBackend
from moto.ec2.responses.elastic_ip_addresses import ElasticIPAddresses
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()


@PATCHES.around(ElasticAddress, "instance_id")
def holder_of_the_interface(original: Original, address: Any) -> Any:
    """EC2 shows the interface's instance; moto showed an instance only if the call had named it."""
    interface = address.eni
    if interface is not None and interface.instance is not None:
        return interface.instance.id
    return original(address)


@PATCHES.around(ElasticAddress, "network_interface_id")
def no_interface(original: Original, address: Any) -> Any:
    """EC2 shows no interface for an address that has none; moto showed an empty id."""
    return original(address) or None


@PATCHES.around(ElasticAddressBackend, "address_by_allocation")
def known_allocation(original: Original, backend: Any, allocation_ids: list[str]) -> Any:
    """EC2 names the unknown id; moto named a Python list of all ids in the request."""
    known = {address.allocation_id for address in backend.addresses}
    for allocation_id in allocation_ids:
        if allocation_id not in known:
            refuse(
                "InvalidAllocationID.NotFound",
                f"The allocation ID '{allocation_id}' does not exist",
            )
    return original(backend, allocation_ids)


@PATCHES.around(ElasticAddressBackend, "associate_address")
def moved_address(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 takes a reassociated address from its old interface; moto showed it on both.

    A service's interface keeps its address (hashicorp/terraform-provider-aws issue 3572); moto moved it.
    """
    holders = {address.public_ip: address.eni for address in backend.addresses}
    wanted = keywords.get("allocation_id")
    if any(
        each.allocation_id == wanted and each.eni and each.eni.requester_managed for each in backend.addresses
    ):
        refuse("AuthFailure", "You do not have permission to access the specified resource.")
    moved = original(backend, *positional, **keywords)
    former = holders.get(moved.public_ip)
    if former is not None and former is not moved.eni:
        former.public_ip = None
    return moved


@PATCHES.around(nat_gateways, "random_private_ip")
def free_address(original: Original) -> None:
    """A NAT gateway gets a free address of its subnet; moto took any address."""
    del original


@PATCHES.around(NatGatewayBackend, "create_nat_gateway")
def managed_interface(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """The interface of a NAT gateway is AWS's, and its description says so; moto's was like any other."""
    gateway = original(backend, *positional, **keywords)
    interface = gateway._eni  # noqa: SLF001 - moto has no other way
    interface.requester_managed, interface.description = True, f"Interface for NAT Gateway {gateway.id}"
    return gateway


@PATCHES.around(ElasticIPAddresses, "associate_address")
def moved_unless_told_not_to(original: Original, response: Any) -> Any:
    """EC2 reassociates an address unless AllowReassociation is false; moto did so only if it was true."""
    response.params.setdefault("AllowReassociation", True)
    return original(response)


@PATCHES.around(NetworkInterface, "stop")
def kept_elastic_address(original: Original, interface: Any) -> None:
    """An instance that ends loses a public address of EC2's own, but its interface keeps an elastic one.

    In moto an interface that was to get an address of EC2's own lost either kind.
    """
    if all(address.eni is not interface for address in interface.ec2_backend.addresses):
        original(interface)


@PATCHES.around(NetworkInterface, "association")
def no_association(original: Original, interface: Any) -> Any:
    """EC2 shows no association without a public address; moto showed an empty one."""
    return original(interface) or None


def settle_public_address(interface: Any) -> None:
    """Give an interface its public address or take it away, as requested, at device 0 only."""
    wanted = getattr(interface, "testbed_public", None)
    if wanted is None or interface.device_index != 0 or interface.instance is None:
        return
    if wanted and interface.public_ip is None:
        interface.public_ip_auto_assign = True
        interface.start()
    elif not wanted:
        interface.stop()
        interface.public_ip_auto_assign = False


@PATCHES.around(ElasticNetworkInterfaces, "modify_network_interface_attribute")
def told_to_be_public(original: Original, response: Any) -> Any:
    """With AssociatePublicIpAddress EC2 gives an interface a public address once it is an instance's first.

    moto ignored the parameter.
    """
    result = original(response)
    wanted = parameter(response, "AssociatePublicIpAddress")
    if wanted is not None:
        eni_id = parameter(response, "NetworkInterfaceId")
        interface = response.ec2_backend.get_network_interface(eni_id)
        interface.testbed_public = wanted is True
        settle_public_address(interface)
    return result


@PATCHES.around(InstanceBackend, "run_instances")
def public_once_launched(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """The same for an interface that an instance is launched with."""
    reservation = original(backend, *positional, **keywords)
    for instance in reservation.instances:
        for interface in instance.nics.values():
            settle_public_address(interface)
    return reservation
