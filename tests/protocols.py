"""What fixtures are, where a fixture is a function: its arguments and what it returns."""

from collections.abc import Callable
from typing import Any

from testbed.executable import Answer

ListResources = Callable[[], dict[str, list[str]]]
"""Lists the ids of what there is beyond what was laid, by kind."""
Checked = Callable[[Answer], Any]
"""Checks a response; returns its result, or the type and message of its error."""
