"""Interfaces created before the launch: which one a lost answer leaves, and which ones undo deletes."""

from collections.abc import Callable
from typing import Any

import pytest

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.cpi.vms.create.interfaces import MAX_GENERATIONS, create_interfaces
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Nic, NicPlan
from tests.unit.aws.timing_script import refusal
from tests.unit.cpi.vms.create.vm_plans import DYNAMIC, FIXED, plan

AWS = "bosh_aws_cpi.aws"


class Nics:
    """EC2, as far as interfaces need it.

    Attributes:
        known: The interfaces of the agent.
        found: What it shows of an interface to undo, or how it refuses that.
        is_alive: Whether their instances live.
        discarded: The ids of the interfaces that were deleted.
        tokens: The client tokens that were sent.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer the program."""
        self.known: list[Nic] = []
        self.found: Nic | Exception | None = None
        self.is_alive = True
        self.discarded: list[str] = []
        self.tokens: list[str] = []
        nics = f"{AWS}.network_interfaces"
        monkeypatch.setattr(f"{nics}.create", self.create)
        monkeypatch.setattr(f"{nics}.of_agent", lambda *_: self.known)
        monkeypatch.setattr(f"{nics}.wait_until_usable", lambda _, nic_id, __: Nic(nic_id))
        monkeypatch.setattr(f"{nics}.find", self.find)
        monkeypatch.setattr(f"{nics}.delete_unattached", lambda _, nic_id: self.discarded.append(nic_id))
        monkeypatch.setattr(f"{nics}.discard", lambda _, nic_id, **__: self.discarded.append(nic_id))
        monkeypatch.setattr(f"{AWS}.instances.is_alive", lambda *_: self.is_alive)

    def create(self, _: object, arguments: dict[str, Any], find: Callable[[], Nic | None]) -> Nic | None:
        """Lose the answer: the interface has to be found."""
        self.tokens.append(arguments["ClientToken"])
        return find()

    def find(self, *_: object) -> Nic | None:
        """Show an interface."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def nics(monkeypatch: pytest.MonkeyPatch) -> Nics:
    """Return EC2."""
    return Nics(monkeypatch)


def created(cloud: Cloud, *plans: NicPlan, undo: Undo | None = None) -> list[str]:
    """Create interfaces, and return their ids."""
    return [nic.nic_id for nic in create_interfaces(cloud, plan(*plans), undo or Undo())]


def test_found(cloud: Cloud, nics: Nics) -> None:
    """An agent's interface is found by its address; without one, each is found once; no attached one is."""
    held, other, own = (
        Nic("eni-7", vm_cid="i-7", addresses=["10.0.0.5"]),
        Nic("eni-8", addresses=["10.0.0.9"]),
        Nic("eni-9", addresses=["10.0.0.5"]),
    )
    nics.known = [held, other, own]
    assert created(cloud, FIXED) == ["eni-9"]
    nics.known = [held, own, other]
    assert created(cloud, FIXED, DYNAMIC) == ["eni-9", "eni-8"]


def test_other_arguments(cloud: Cloud, nics: Nics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unattached interfaces of an earlier call with other arguments are deleted; the tokens have an end."""

    def refuse(_: object, arguments: dict[str, Any], __: object) -> None:
        nics.tokens.append(arguments["ClientToken"])
        raise refusal("IdempotentParameterMismatch")

    monkeypatch.setattr(f"{AWS}.network_interfaces.create", refuse)
    nics.known = [Nic("eni-7", vm_cid="i-7"), Nic("eni-8")]
    with pytest.raises(CloudError, match=f"nic_group 'a': {MAX_GENERATIONS} interfaces"):
        created(cloud, FIXED)
    assert set(nics.discarded) == {"eni-8"}
    assert len(set(nics.tokens)) == MAX_GENERATIONS


@pytest.mark.parametrize(
    ("found", "is_alive", "is_kept"),
    [
        (Nic("eni-9"), True, False),
        (Nic("eni-9", vm_cid="i-1"), False, False),
        (Nic("eni-9", vm_cid="i-1"), True, True),
        (None, True, False),
        (refusal("RequestLimitExceeded"), True, False),
    ],
    ids=["unattached", "of an ended instance", "of a running instance", "gone", "lookup refused"],
)
def test_undo(
    cloud: Cloud, nics: Nics, found: Nic | Exception | None, *, is_alive: bool, is_kept: bool
) -> None:
    """Undo deletes an interface unless a running instance is seen to use it, which is an earlier call's."""
    nics.known = [Nic("eni-9")]
    undo = Undo()
    assert created(cloud, DYNAMIC, undo=undo) == ["eni-9"]
    nics.found, nics.is_alive = found, is_alive
    undo.run("an error")
    assert nics.discarded == ([] if is_kept else ["eni-9"])
