"""Private addresses in use: how long a claim waits for whom, and which interfaces it deletes."""

import pytest
from botocore.exceptions import ClientError

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.vms.create.interfaces import (
    MAX_OF_ANOTHER_AGENT,
    MAX_UNATTACHED,
    MAX_UNHELD,
    AddressTaken,
    claiming,
)
from bosh_aws_cpi.errors import VMNotFound
from bosh_aws_cpi.model import Instance, Nic
from tests.unit.aws.timing_script import refusal
from tests.unit.conftest import DIRECTOR, Clock

AGENT, VM, ADDRESS = "agent-1", "i-1", "10.0.0.5"
OURS = {"bosh_director_uuid": DIRECTOR, "bosh_agent_id": AGENT}
ANOTHERS = {**OURS, "bosh_agent_id": "agent-2"}
OTHER_DIRECTORS = {**OURS, "bosh_director_uuid": "director-2"}
NO_LIMIT = 100
"""As many attempts as a wait of some minutes has."""


class Holder:
    """What has the address, if anything has it.

    Attributes:
        nic: The interface.
        vm: Its instance, or how EC2 refuses to show it.
        is_deleted: Whether the interface was deleted.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have nothing yet."""
        self.nic: Nic | None = None
        self.vm: Instance | Exception = VMNotFound(VM)
        self.is_deleted = False
        monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.holder", lambda *_: self.nic)
        monkeypatch.setattr("bosh_aws_cpi.aws.network_interfaces.delete_unattached", self._delete)
        monkeypatch.setattr("bosh_aws_cpi.aws.instances.find", self._find)

    def has(self, tags: dict[str, str] | None, state: str) -> None:
        """Be an interface with tags, of an instance in a state; without tags, be nothing."""
        if tags is not None:
            self.nic = Nic("eni-1", status="available", vm_cid=VM if state else None, tags=tags)
            self.vm = VMNotFound(VM) if state == "gone" else Instance(VM, state, "t", "z", {}, tags=tags)

    def _find(self, *_: object) -> Instance:
        if isinstance(self.vm, Exception):
            raise self.vm
        return self.vm

    def _delete(self, *_: object) -> None:
        self.is_deleted = True


@pytest.fixture
def holder(monkeypatch: pytest.MonkeyPatch) -> Holder:
    """Return what has the address."""
    return Holder(monkeypatch)


def claim(cloud: Cloud, refusals: int, code: str = "InvalidIPAddress.InUse") -> int:
    """Claim the address, which EC2 refuses a number of times; returns how often it was asked."""
    attempts = iter(range(refusals + 1))

    def create() -> int:
        if (attempt := next(attempts)) < refusals:
            raise refusal(code)
        return attempt

    return claiming(cloud, AGENT, "subnet-1", [ADDRESS], create)


@pytest.mark.parametrize(
    ("tags", "state", "most", "why"),
    [
        (None, "", MAX_UNHELD, "EC2 shows no network interface that has this address"),
        ({}, "", MAX_UNATTACHED, r"'eni-1' \(available\) which no instance uses$"),
        ({"bosh_agent_id": AGENT}, "", MAX_UNATTACHED, "which no instance uses$"),
        (OTHER_DIRECTORS, "", 0, "which no instance uses$"),
        ({"bosh_director_uuid": ""}, "", 0, "which no instance uses$"),
        *((OTHER_DIRECTORS, state, 0, f"of instance '{VM}'$") for state in ("pending", "running", "stopped")),
        (OURS, "stopping", 0, f"lacks the tags of set_vm_metadata: .* --delete --instance {VM}$"),
        ({**OURS, "job": "web"}, "running", 0, f"of instance '{VM}'$"),
    ],
)
@pytest.mark.usefixtures("clock")
def test_kept(
    cloud: Cloud, holder: Holder, tags: dict[str, str] | None, state: str, most: int, why: str
) -> None:
    """Whoever keeps the address is left alone; the claim fails after so many attempts, and says why."""
    holder.has(tags, state)
    assert claim(cloud, most) == most
    with pytest.raises(AddressTaken, match=why):
        claim(cloud, most + 1)
    assert not holder.is_deleted


@pytest.mark.parametrize("state", ["shutting-down", "terminated", "gone"])
def test_departing(cloud: Cloud, holder: Holder, clock: Clock, state: str) -> None:
    """The claim waits ten minutes for the interface of an instance that is ending, whosever it is."""
    holder.has(OTHER_DIRECTORS, state)
    assert claim(cloud, NO_LIMIT) == NO_LIMIT
    began = clock.now
    with pytest.raises(AddressTaken, match="600 seconds"):
        claim(cloud, 10_000)
    assert clock.now - began >= 600
    assert not holder.is_deleted


@pytest.mark.parametrize(
    ("tags", "after"),
    [(OURS, 1), ({"bosh_director_uuid": DIRECTOR}, 1), (ANOTHERS, MAX_OF_ANOTHER_AGENT + 1)],
    ids=["ours", "no agent", "another VM's"],
)
@pytest.mark.usefixtures("clock")
def test_stray(cloud: Cloud, holder: Holder, tags: dict[str, str], after: int) -> None:
    """An unattached interface of our Director is deleted, after a while if it is for another VM."""
    holder.has(tags, "")
    claim(cloud, after - 1)
    assert not holder.is_deleted
    claim(cloud, after)
    assert holder.is_deleted


@pytest.mark.usefixtures("clock")
def test_caller_without_a_name(cloud: Cloud, holder: Holder) -> None:
    """A caller without a Director's id deletes no interface, not even one without a tag."""
    anonymous = Cloud(cloud.config.replaced(director_uuid=None), 2)
    vars(anonymous)["clients"] = cloud.clients
    for tags in ({}, OURS):
        holder.has(tags, "")
        with pytest.raises(AddressTaken):
            claim(anonymous, NO_LIMIT)
    assert not holder.is_deleted


@pytest.mark.parametrize("code", ["InvalidSubnetID.NotFound", "RequestLimitExceeded"])
def test_other_refusals(cloud: Cloud, holder: Holder, clock: Clock, code: str) -> None:
    """Other refusals are raised at once: only the SDK repeats the call."""
    holder.has(OURS, "")
    with pytest.raises(ClientError, match=code):
        claim(cloud, 1, code)
    assert clock.pauses == []
