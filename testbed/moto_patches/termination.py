"""TerminateInstances: the interfaces and addresses of an instance that ends."""

from typing import Any

from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance, InstanceState, StateReason

from testbed.moto_patches.patching import Original, Patches

PATCHES = Patches()


def release(instance: Any, interface: Any) -> None:
    """Detach an interface from an instance that ends, and delete it if it has DeleteOnTermination."""
    interface.stop()
    instance.detach_eni(interface)
    if interface.delete_on_termination:
        interface.delete()
    interface.delete_on_termination = False


@PATCHES.around(Instance, "terminate")
def released_interfaces(original: Original, instance: Any) -> Any:
    """EC2 deletes interfaces with DeleteOnTermination; the others become available.

    The addresses of deleted interfaces become free. In moto an interface that was created
    before the launch stayed attached to the terminated instance, and elastic addresses stayed
    associated. EC2 answers success when an instance is terminated a second time; moto failed
    (InvalidNetworkInterfaceID.NotFound).
    """
    if instance.state == "terminated":
        return InstanceState("terminated", 48)
    for interface in list(instance.nics.values()):
        release(instance, interface)
    for address in instance.ec2_backend.addresses:
        if address.instance is instance:
            # The address stays with an interface that was created before the launch.
            address.instance = None
    instance._subnet_id = None  # noqa: SLF001 - EC2 shows no subnet any more
    return original(instance)


def without_interface(original: Original, instance: Any) -> Any:
    """A terminated instance has no addresses in EC2; moto failed without an interface."""
    return original(instance) if instance.nics else None


for _name in ("private_ip", "private_ip_address", "public_ip", "public_ip_address"):
    PATCHES.around(Instance, _name)(without_interface)


@PATCHES.around(Instance, "private_dns_name")
def private_name(original: Original, instance: Any) -> Any:
    """The same for the private DNS name, which EC2 shows empty."""
    return original(instance) if instance.nics else ""


OWN_CODES = ("Client.InstanceInitiatedShutdown", "Client.UserInitiatedShutdown", "Server.")
"""Reasons that are also the code."""


def state_reason(message: str) -> StateReason:
    """Write a reason as EC2 does: the message begins with it, but the code may differ.

    The user guide's example of a launch that failed has the code Server.InternalError and the message
    "Client.VolumeLimitExceeded: Volume limit exceeded" ("Instance terminates immediately"); a KMS key
    that can't be used shows as Server.InternalError with "Client.InternalError: Client error on launch"
    (aws/karpenter-provider-aws issue 1407), and its state as Client.InternalError with
    "Client.InvalidKMSKey.InvalidState: ..." (openshift/osd-network-verifier, AwsVerifier).
    """
    reason, _, _ = message.partition(":")
    if reason.startswith(OWN_CODES):
        return StateReason(message, reason)
    code = "Client.InternalError" if reason.startswith("Client.InvalidKMSKey") else "Server.InternalError"
    return StateReason(message, code)


def end_instances(instance_ids: list[str], reason: str) -> None:
    """End instances as EC2 does on its own, for a reason such as `Server.InternalError: …`."""
    backends = [backend for regions in ec2_backends.values() for backend in regions.values()]
    for backend in backends:
        for instance_id in instance_ids:
            instance = backend.get_instance_by_id(instance_id)
            if instance is not None and instance.state != "terminated":
                instance.terminate()
                instance.state_reason = state_reason(reason)
