"""`cpi check`: a cloud config's mistakes, each with its path and line, before a deployment makes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.stories.checked_config import CONTRADICTIONS, IN_AWS, OF_DIRECTOR, WRONG_TYPES, line_of, right
from tests.stories.checking import checked, created

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
    """Each mistake is one error with its path, its line, and who refuses it.

    What the Director refuses may make other places wrong too: a name that is gone is missed elsewhere.
    """
    config = mistake.made_in(right(world))
    found = [each for each in check(config) if each["severity"] == "error"]
    errors = [each for each in found if each["source"] == mistake.source]
    text = yaml.safe_dump(config, sort_keys=False)
    wanted = {(path, line_of(text, path)) for path in mistake.shown.split() or [""]}
    assert wanted <= {(each["path"], each["line"]) for each in errors}, found
    assert mistake.source == "Director" or len(errors) == len(wanted), errors


@pytest.mark.parametrize("mistake", [*WRONG_TYPES, *CONTRADICTIONS, *IN_AWS], ids=str)
def test_call_fails(cpi: Cpi, world: World, mistake: Mistake) -> None:
    """What the CPI or AWS is said to refuse is refused, and nothing is left."""
    before = world.state()
    assert created(cpi, world, right(world), "vm_types").error is None
    for vm_cid in set(world.state()["instances"]) - set(before["instances"]):
        cpi.call("delete_vm", vm_cid).ok()
    kind = str(mistake.route[0])
    answer = created(cpi, world, mistake.made_in(right(world)), kind, mistake.route[1])
    assert answer.error is not None, answer
    assert world.state() == before
