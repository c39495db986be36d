"""What the agent on the VM boots from."""

import json
from typing import Any

import pytest

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.plan import agent_settings
from bosh_aws_cpi.plan.agent_settings import AgentSettingsInput
from bosh_aws_cpi.plan.block_devices import BlockDevices

MANUAL = {"type": "manual", "ip": "10.0.0.5", "dns": ["10.0.0.2"]}
DYNAMIC = {"type": "dynamic", "dns": ["8.8.8.8"]}
VIP = {"type": "vip", "ip": "52.1.2.3", "dns": ["9.9.9.9"]}
MACS = {"a": "02:00:00:00:00:01"}
DEVICES = BlockDevices([], "/dev/sdb")


def facts(**given: Any) -> AgentSettingsInput:
    """Describe a VM, as it mostly is but for what is given."""
    whole: dict[str, Any] = {
        "agent_id": "agent-1",
        "networks": {"a": MANUAL},
        "environment": {},
        "agent": {},
        "registry_endpoint": None,
        "root_device_name": "/dev/sda1",
        "is_registry_used": False,
        **given,
    }
    return AgentSettingsInput(**whole)


def test_name_of_the_vm() -> None:
    """The same agent gets the same name, another one another: a repeated call builds the same request."""
    names = [
        agent_settings.full(facts(agent_id=agent_id), DEVICES, {})["vm"]["name"]
        for agent_id in ("agent-1", "agent-1", "agent-2")
    ]
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(
    ("networks", "dns"),
    [
        ({"v": VIP, "d": DYNAMIC}, None),
        ({"a": {"dns": []}, "b": {"dns": None}, "c": {"dns": ["1.1.1.1"]}}, {"nameserver": ["1.1.1.1"]}),
        ({"a": {"type": None, "dns": ["1.1.1.1"]}, "b": MANUAL}, {"nameserver": ["1.1.1.1"]}),
        ({"d": DYNAMIC, "a": MANUAL}, {"nameserver": ["10.0.0.2"]}),
    ],
)
def test_dns(networks: dict[str, Any], dns: dict[str, Any] | None) -> None:
    """The servers are those of the first manual network that has any; else null."""
    settings = agent_settings.user_data(facts(networks=networks, is_registry_used=True), DEVICES, {})
    assert json.loads(settings)["dns"] == dns


@pytest.mark.parametrize("filler", ["x", "ü"], ids=["ASCII", "two bytes"])
def test_size_limit(filler: str) -> None:
    """EC2 takes 16384 bytes of user_data, and one more is refused with both numbers."""

    def text(length: int, last: str) -> str:
        environment = {"filler": filler * length + last}
        return agent_settings.user_data(facts(environment=environment), DEVICES, MACS)

    count, odd = divmod(16384 - len(text(0, "").encode()), len(filler.encode()))
    assert len(text(count, "x" * odd).encode()) == 16384
    with pytest.raises(CloudError) as caught:
        text(count, "x" * (odd + 1))
    assert caught.value.message.startswith(
        "The agent's settings are too large for EC2's user_data: 16385 bytes, the limit is 16384."
    )
    assert caught.value.ok_to_retry is False


def test_placeholder() -> None:
    """The placeholder is as long as a MAC, so that settings can be measured before there is one."""
    assert len(agent_settings.MAC_PLACEHOLDER) == len(MACS["a"])
