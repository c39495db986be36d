"""Network interfaces: their groups, their end, and their attributes."""

from typing import Any, NoReturn

from moto.ec2.models.elastic_network_interfaces import NetworkInterface, NetworkInterfaceBackend
from moto.ec2.models.instances import InstanceBackend
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces

from testbed.moto_patches.groups import check_groups
from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()


@PATCHES.around(NetworkInterfaceBackend, "create_network_interface")
def known_groups(original: Original, backend: Any, *positional: Any, **keywords: Any) -> Any:
    """EC2 refuses unknown security groups, and those that the VPC may not use.

    moto created an unknown group with that id, and accepted groups of all VPCs.
    """
    group_ids = keywords.get("group_ids") or next(iter(positional[3:4]), None)
    for group_id in group_ids or []:
        if backend.get_security_group_from_id(group_id) is None:
            refuse("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
    check_groups(backend, positional[0], group_ids or [])
    return original(backend, *positional, **keywords)


@PATCHES.around(NetworkInterface, "group_set")
def own_groups(original: Original, interface: Any) -> Any:
    """EC2 shows an interface's own groups; moto added those of its instance."""
    del original
    return interface._group_set  # noqa: SLF001 - moto has no other name for them


@PATCHES.around(NetworkInterfaceBackend, "delete_network_interface")
def only_when_detached(original: Original, backend: Any, eni_id: str) -> Any:
    """EC2 refuses to delete an attached interface, and frees its elastic address.

    moto deleted it, and left the elastic address with the deleted interface.
    """
    interface = backend.get_network_interface(eni_id)
    if interface.attachment_id:
        refuse("InvalidParameterValue", f"Network interface '{eni_id}' is currently in use.")
    for address in backend.addresses:
        if address.eni is interface:
            backend.disassociate_address(address=address.public_ip)
    return original(backend, eni_id)


@PATCHES.around(ElasticNetworkInterfaces, "modify_network_interface_attribute")
def attachment_attribute(original: Original, response: Any) -> Any:
    """EC2 sets DeleteOnTermination of an attachment; moto ignored the parameter."""
    attachment = parameter(response, "Attachment", {})
    if attachment:
        backend = response.ec2_backend
        eni_id = parameter(response, "NetworkInterfaceId")
        interface = backend.get_network_interface(eni_id)
        wanted = attachment.get("AttachmentId")
        if not wanted or wanted != interface.attachment_id:
            refuse(
                "InvalidAttachmentID.NotFound",
                f"The network interface attachment ID '{wanted}' does not exist",
            )
        interface.delete_on_termination = attachment.get("DeleteOnTermination") is True
    return original(response)


ATTRIBUTES = ("Attachment", "Groups", "Description", "SourceDestCheck", "AssociatePublicIpAddress")


@PATCHES.around(ElasticNetworkInterfaces, "modify_network_interface_attribute")
def one_attribute(original: Original, response: Any) -> Any:
    """EC2 modifies one attribute of an interface at a time; moto modified any number of them."""
    given = [name for name in ATTRIBUTES if parameter(response, name) is not None]
    if len(given) > 1:
        refuse(
            "InvalidParameterCombination",
            f"Fields for multiple attribute types specified: {', '.join(given)}",
        )
    return original(response)


@PATCHES.around(NetworkInterfaceBackend, "modify_network_interface_attribute")
def check_of_the_instance(
    original: Original, backend: Any, eni_id: str, *positional: Any, **keywords: Any
) -> None:
    """EC2 shows the source/destination check of an instance's first interface as the instance's.

    moto changed the interface's check only, and did not change the instance's.
    """
    original(backend, eni_id, *positional, **keywords)
    interface = backend.get_network_interface(eni_id)
    if interface.instance is not None and interface.device_index == 0:
        interface.instance.source_dest_check = interface.source_dest_check


def refuse_several(instance_id: str) -> NoReturn:
    """Refuse a call that names an instance with several interfaces and means one of them."""
    refuse(
        "InvalidInstanceID",
        f"There are multiple interfaces attached to instance '{instance_id}'. "
        "Please specify an interface ID for the operation instead.",
    )


@PATCHES.around(InstanceBackend, "modify_instance_attribute")
def check_of_the_only_interface(
    original: Original, backend: Any, instance_id: str, key: str, value: Any
) -> Any:
    """EC2 sets an instance's source/destination check on its one interface.

    EC2 refuses this for an instance with several interfaces. moto changed the instance only.
    """
    if key == "source_dest_check":
        interfaces = list(backend.get_instance(instance_id).nics.values())
        if len(interfaces) > 1:
            refuse_several(instance_id)
        for interface in interfaces:
            interface.source_dest_check = value
    return original(backend, instance_id, key, value)
