"""All rows of cpi.json's table, in the order of the pages.

`make docs` writes docs/configuration.md, docs/job.md and the job's spec from them.
"""

from __future__ import annotations

from typing import Any, Final

from bosh_aws_cpi.config import access_keys, agent_keys, resource_keys
from bosh_aws_cpi.config.values import Key

KEYS: Final[tuple[Key[Any], ...]] = tuple(
    row
    for module in (access_keys, resource_keys, agent_keys)
    for row in vars(module).values()
    if isinstance(row, Key)
)
