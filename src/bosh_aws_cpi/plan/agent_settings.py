"""The settings that the agent on the VM boots with: full settings, minimal settings, and user_data."""

import uuid
from collections.abc import Mapping

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, encode
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.records import Confidential

MAX_USER_DATA = 16384
"""EC2's limit in bytes, before Base64."""

_VM_NAMES = uuid.UUID("9d1c4d58-6f7f-4b52-9b0a-3d0c6f4f2f1e")
_MINIMAL_ALONE = frozenset({"dns", "registry"})
"""Keys of the minimal settings, which the agent section can't override."""
MAC_PLACEHOLDER = "00:00:00:00:00:00"
"""A text as long as a MAC: the size of the settings is checked before the interfaces exist."""


class AgentSettingsInput(Confidential):
    """The parts of one VM's settings that no launch option changes."""

    agent_id: str
    networks: Json
    """The networks as the caller gave them."""
    environment: Json | None
    agent: Json
    """The configuration's ``agent`` section."""
    registry_endpoint: str | None
    root_device_name: str
    is_registry_used: bool
    """Whether the agent reads its full settings from the registry."""


def full(vm: AgentSettingsInput, devices: BlockDevices, macs: Mapping[str, str]) -> Json:
    """The full settings, the content of a registry document.

    Args:
        vm: The VM.
        devices: The block devices that it is launched with.
        macs: MAC address by network, for the interfaces that were created before the launch.
    """
    disks: Json = {"system": vm.root_device_name, "persistent": {}}
    if devices.ephemeral:
        disks["ephemeral"] = devices.ephemeral
    if devices.raw_ephemeral:
        disks["raw_ephemeral"] = [{"path": name} for name in devices.raw_ephemeral]
    environment = {} if vm.environment is None else {"env": vm.environment}
    return {
        "vm": {"name": f"vm-{uuid.uuid5(_VM_NAMES, vm.agent_id)}"},
        "agent_id": vm.agent_id,
        "networks": _networks(vm.networks, macs),
        "disks": disks,
        **environment,
        **{key: value for key, value in vm.agent.items() if key not in _MINIMAL_ALONE},
    }


def user_data(vm: AgentSettingsInput, devices: BlockDevices, macs: Mapping[str, str]) -> str:
    """The JSON for EC2's user_data: the full settings, or those that lead an agent to the registry.

    Raises:
        CloudError: It is larger than EC2 allows.
    """
    registry = {"registry": {"endpoint": vm.registry_endpoint}} if vm.registry_endpoint else {}
    minimal = {"dns": _dns(vm.networks), "networks": _networks(vm.networks, macs), **registry}
    settings = minimal if vm.is_registry_used else {**full(vm, devices, macs), **minimal}
    text = encode(settings)
    size = len(text.encode())
    if size > MAX_USER_DATA:
        raise CloudError(
            f"The agent's settings are too large for EC2's user_data: {size} bytes, "
            f"the limit is {MAX_USER_DATA}. Reduce env.bosh, the agent's certificates or the networks"
        )
    return text


def _networks(networks: Json, macs: Mapping[str, str]) -> Json:
    return {
        name: {**given, "use_dhcp": True, **({"mac": macs[name]} if name in macs else {})}
        for name, given in networks.items()
    }


def _dns(networks: Json) -> Json | None:
    """The DNS servers of the first manual network that has any."""
    manual = (given for given in networks.values() if given.get("type") in {None, "manual"})
    servers = next((given["dns"] for given in manual if given.get("dns")), None)
    return None if servers is None else {"nameserver": servers}
