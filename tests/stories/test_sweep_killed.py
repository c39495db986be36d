"""What calls that were killed have left behind is found, and removed as far as it is certain."""

from collections.abc import Callable

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, Process
from testbed.killing import kill_at
from testbed.world import World
from tests.stories.operators import ANY_AGE, Sweep
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story


@pytest.fixture
def killed(story: Story, cpi: Cpi, heavy: Heavy, fake_aws: FakeAws) -> Callable[[str, str], None]:
    """Return a function that kills a call after AWS has carried out an action."""
    starts: dict[str, Callable[[], Process]] = {
        "create_disk": lambda: cpi.start("create_disk", 1024, {}, None),
        "create_stemcell": heavy.start,
        "create_vm": story.start_vm,
        "create_vm of two networks": lambda: story.start_vm(
            networks={"a": story.network("10.0.1.10"), "b": story.network("10.0.2.10", 1)}
        ),
        "create_vm with spread": lambda: story.start_vm({"spread": True}, env={"bosh": {"group": "a-b-c"}}),
    }

    def kill(call: str, action: str) -> None:
        kill_at(fake_aws, starts[call], action=action, when="after")

    return kill


def test_copy_whose_repeated_call_failed(cpi: Cpi, world: World, fake_aws: FakeAws, sweep: Sweep) -> None:
    """The copy of a killed create_stemcell is listed, even if the repeated call fails at its last lookup."""
    light = {"ami": {"us-east-1": world.image_id}, "encrypted": True}
    arguments, context = ("create_stemcell", "/x/image", light), {"request_id": "cpi-1"}
    kill_at(fake_aws, lambda: cpi.start(*arguments, context=context), action="CopyImage", when="after")
    fake_aws.forget_calls()
    fake_aws.refuse("DescribeImages", "UnauthorizedOperation", "You may not.", 403, nth=4)
    answer = cpi.call(*arguments, context=context)
    assert "You may not." in answer.error["message"]
    assert fake_aws.actions()[-2:] == ["CreateTags", "DescribeImages"]
    (ami_id,) = world.state()["images"]
    assert sweep.outcomes(*ANY_AGE) == {ami_id: "left to you"}


@pytest.mark.parametrize(
    ("call", "action", "kind"),
    [
        ("create_disk", "CreateVolume", "volume"),
        ("create_stemcell", "CompleteSnapshot", "snapshot"),
        ("create_vm of two networks", "CreateNetworkInterface", "interface"),
        ("create_vm with spread", "CreatePlacementGroup", "placement group"),
    ],
)
def test_killed(
    killed: Callable[[str, str], None],
    sweep: Sweep,
    world: World,
    call: str,
    action: str,
    kind: str,
) -> None:
    """The resources that a killed call has left are found and deleted."""
    killed(call, action)
    assert world.state() != world.empty
    (stray,) = sweep("--json", *ANY_AGE).document["strays"]
    assert stray["kind"] == kind
    named = ("--disk", stray["id"]) if kind == "volume" else ()
    if kind in {"interface", "placement group"}:
        assert sweep.outcomes("--delete", status=0) == {stray["id"]: "marked"}
    assert sweep.outcomes("--delete", *named, *ANY_AGE, status=0) == {stray["id"]: "removed"}
    assert world.state() == world.empty


@pytest.mark.parametrize(
    ("call", "action", "kind", "outcome"),
    [
        ("create_stemcell", "RegisterImage", "images", "left to you"),
        ("create_vm", "RunInstances", "instances", "left to you: name it with --instance"),
    ],
)
def test_killed_when_it_was_made(
    killed: Callable[[str, str], None],
    sweep: Sweep,
    world: World,
    call: str,
    action: str,
    kind: str,
    outcome: str,
) -> None:
    """An available AMI and a running VM are left to a person: the Director may know them."""
    killed(call, action)
    made = world.state()
    assert sweep.outcomes("--delete", *ANY_AGE) == dict.fromkeys(made[kind], outcome)
    assert len(made[kind]) == 1
    assert world.state() == made
