"""A stderr that is full and that nobody reads: the call is answered, and its log lines are counted."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import EXECUTABLE, PATIENCE, Answer, Cpi, config, finish
from testbed.world import World

FULL = """
import os, sys
os.set_blocking(2, False)
try:
    while True:
        os.write(2, b"." * 4096)
except BlockingIOError:
    os.set_blocking(2, True)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""The executable, whose stderr is full."""
COMMAND = [sys.executable, "-c", FULL, EXECUTABLE]
COUNT = re.compile(r"\S+ WARNING: (\d+) log lines? dropped here, because stderr was full and nobody read it")


@pytest.mark.parametrize("is_read", [True, False], ids=["read later", "never read"])
def test_answer(result: Callable[[Answer], Any], fake_aws: FakeAws, world: World, *, is_read: bool) -> None:
    """The call does its work and is answered; who reads the log afterwards learns how many lines it lacks."""
    cpi = Cpi(config(fake_aws.endpoint), command=COMMAND)
    process = cpi.start("create_disk", 1024, {}, None)
    assert process.stdout is not None
    stdout = process.stdout.read()
    if not is_read:
        process.wait(PATIENCE)
    answer = replace(finish(process), stdout=stdout)
    (volume,) = world.ec2.describe_volumes(VolumeIds=[result(answer)])["Volumes"]
    assert volume["Size"] == 1
    log = answer.stderr.lstrip(".").splitlines()
    counts = [found[1] for line in log if (found := COUNT.fullmatch(line))]
    assert counts == (["2"] if is_read else [])  # Starting, Finished
    assert len(log) == len(counts)
