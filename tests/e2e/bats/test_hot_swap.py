"""`update.vm_strategy: create-swap-delete`, for which BATS has no spec."""

from collections.abc import Callable
from typing import Any

from testbed.world import World
from tests.e2e.bats.contents import NEW_STORE
from tests.e2e.bats.director import Director, Instance, recorded

FLOW = ("i-e75571ae627ef2943", "i-d9031cd7e1519acff", "vol-16d2a741f62ada7c6", "vol-5a7738df4dc9e8b39")


def test_create_swap_delete(
    director: Director, batlight: Instance, world: World, network: Callable[..., dict[str, Any]]
) -> None:
    """The new VM stands beside the old one, takes its disk over, and copies the data to a larger one."""
    director.deploy(batlight)
    old = batlight.vm
    director.contents.write(old.cid, "foobar")
    director.methods.clear()
    orphan = director.hot_swap(batlight, {"default": network("10.0.1.29")}, 4096)
    assert director.methods == recorded("85-director-hotswap.jsonl", *FLOW)
    new = batlight.vm
    assert new.cid != old.cid
    state = world.state()
    assert (state["instances"], len(state["interfaces"])) == ([new.cid], 1)
    assert director.machine(batlight).settings["networks"]["default"]["ip"] == "10.0.1.29"
    assert world.instance(new.cid)["PrivateIpAddress"] == "10.0.1.29"
    assert director.machine(batlight).mounts == {NEW_STORE: batlight.disk}
    assert director.machine(batlight).disk_hints.keys() == {batlight.disk}
    assert director.contents.read(new.cid) == "foobar"
    assert orphan in state["volumes"]
