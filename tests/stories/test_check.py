"""`cpi check`: a cloud config's mistakes, each with its path and line, before a deployment makes them."""

import pytest
import yaml

from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import (
    CONTRADICTIONS,
    IN_AWS,
    OF_DIRECTOR,
    WRONG_TYPES,
    Mistake,
    line_of,
    right,
    together,
    with_real_things,
)
from tests.stories.checking import checked, created, errors

MISTAKES = [*WRONG_TYPES, *CONTRADICTIONS, *IN_AWS, *OF_DIRECTOR]
ALONE = [each for each in MISTAKES if not each.is_of_type]
IN_TYPES = [each for each in MISTAKES if each.is_of_type]
REFUSED = [*(each for each in CONTRADICTIONS if each.route[0] != "vm_types"), *IN_AWS]
"""What contradicts itself in a VM type has stories of create_vm."""


def test_right(cpi: Cpi, world: World) -> None:
    """A cloud config without mistakes has no findings, offline or with AWS, and its VMs can be created."""
    assert checked(cpi, right(world), "--offline") == []
    assert checked(cpi, right(world)) == []
    created(cpi, world, right(world), "vm_types").ok()
    created(cpi, world, right(world), "disk_types").ok()


def test_mistakes_of_types(cpi: Cpi, world: World) -> None:
    """Each mistake in a VM or disk type is one error with its path, its line, and who refuses it."""
    config, expected = together(right(world), IN_TYPES)
    config = with_real_things(world, config)
    text = yaml.safe_dump(config, sort_keys=False)
    found = {(each["path"], each["source"], each["line"]) for each in errors(checked(cpi, config))}
    named = {(path, source, line_of(text, path)) for path, source in expected if source}
    assert named <= found, named - found
    unexpected = {path for path, _, _ in found} - {path for path, _ in expected}
    assert not unexpected


@pytest.mark.parametrize("mistake", ALONE, ids=str)
def test_mistake(cpi: Cpi, world: World, mistake: Mistake) -> None:
    """Any other mistake is one error with its path, its line, and who refuses it, and no other error."""
    config = mistake.made_in(right(world))
    found = errors(checked(cpi, config))
    text = yaml.safe_dump(config, sort_keys=False)
    wanted = {(path, line_of(text, path)) for path in mistake.shown.split() or [""]}
    own = [each for each in found if each["source"] == mistake.source]
    assert wanted <= {(each["path"], each["line"]) for each in own}, found
    paths = {path for path, _ in wanted} | set(mistake.also.split())
    assert {each["path"] for each in found} == paths, found
    assert mistake.also or len(found) == len(wanted), found


@pytest.mark.parametrize("mistake", REFUSED, ids=str)
def test_call_fails(cpi: Cpi, world: World, mistake: Mistake) -> None:
    """What the CPI or AWS is said to refuse is refused for that reason, and nothing is left."""
    config = with_real_things(world, mistake.made_in(right(world)))
    before = world.state()
    answer = created(cpi, world, config, str(mistake.route[0]), mistake.route[1])
    assert answer.error is not None, answer
    found = [each["what"] for each in errors(checked(cpi, config)) if each["source"] == mistake.source]
    reasons = [mistake.said] if mistake.said else found
    assert any(reason in answer.error["message"] for reason in reasons), (answer.error, reasons)
    assert world.state() == before
