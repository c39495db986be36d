"""`cpi check`: a cloud config's mistakes, each with its path and line, before a deployment makes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.stories.checked_config import (
    CONTRADICTIONS,
    IN_AWS,
    OF_DIRECTOR,
    WRONG_TYPES,
    line_of,
    right,
    with_real_things,
)
from tests.stories.checking import checked, created, errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.executable import Cpi
    from testbed.world import World
    from tests.stories.checked_config import Mistake
    from tests.stories.checking import Findings


@pytest.fixture
def check(cpi: Cpi) -> Callable[..., Findings]:
    """Return a function that checks a cloud config, and reads the findings."""
    return partial(checked, cpi)


def test_right(check: Callable[..., Findings], world: World) -> None:
    """A cloud config without mistakes has no findings, offline or with AWS."""
    assert check(right(world), "--offline") == []
    assert check(right(world)) == []


@pytest.mark.parametrize("mistake", [*WRONG_TYPES, *CONTRADICTIONS, *IN_AWS, *OF_DIRECTOR], ids=str)
def test_mistake(check: Callable[..., Findings], world: World, mistake: Mistake) -> None:
    """Each mistake is one error with its path, its line, and who refuses it, and no other error."""
    config = with_real_things(world, mistake.made_in(right(world)))
    found = errors(check(config))
    text = yaml.safe_dump(config, sort_keys=False)
    wanted = {(path, line_of(text, path)) for path in mistake.shown.split() or [""]}
    own = [each for each in found if each["source"] == mistake.source]
    assert wanted <= {(each["path"], each["line"]) for each in own}, found
    paths = {path for path, _ in wanted} | set(mistake.also.split())
    assert {each["path"] for each in found} == paths, found
    assert mistake.also or len(found) == len(wanted), found


@pytest.mark.parametrize("mistake", [*WRONG_TYPES, *CONTRADICTIONS, *IN_AWS], ids=str)
def test_call_fails(cpi: Cpi, world: World, mistake: Mistake) -> None:
    """What the CPI or AWS is said to refuse is refused for that reason, and nothing is left."""
    before = world.state()
    assert created(cpi, world, right(world), "vm_types").error is None
    for vm_cid in set(world.state()["instances"]) - set(before["instances"]):
        cpi.call("delete_vm", vm_cid).ok()
    config = with_real_things(world, mistake.made_in(right(world)))
    answer = created(cpi, world, config, str(mistake.route[0]), mistake.route[1])
    assert answer.error is not None, answer
    found = [each["what"] for each in errors(checked(cpi, config)) if each["source"] == mistake.source]
    reasons = [mistake.said] if mistake.said else found
    assert any(reason in answer.error["message"] for reason in reasons), (answer.error, reasons)
    assert world.state() == before
