"""Facts about instance types, cached for a day in a private directory of the user.

Every call is a separate process, and a deployment needs the same few types hundreds of times.
Concurrent processes share the directory. Each type has its own file, which is written under another name and
then renamed, so a reader finds a complete file or none. If the cache can't be used, the program calls EC2.
"""

import json
import re
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts

MAX_AGE = 86_400
"""Seconds."""
_FORMAT = 3
"""Part of each file's name; change it when the content of the files changes."""
_NAMES = InstanceTypeFacts.__annotations__
_SETS = ("architectures", "lacks")
_TYPE_NAME = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+")


class TypeCache:
    """The cached facts of one endpoint.

    Args:
        endpoint: The source of the facts; each region, and a simulated AWS, has its own.
    """

    def __init__(self, endpoint: str) -> None:
        self._prefix = f"{_FORMAT}-{sha256(endpoint.encode()).hexdigest()[:16]}"
        self._folder = private_files.folder()

    def get(self, name: str) -> InstanceTypeFacts | None:
        """The facts about a type; None when they are not cached, or more than a day old."""
        if (path := self._path(name)) is None:
            return None
        try:
            kept = json.loads(path.read_bytes())
            age = time.time() - kept.pop("asked_at")
            facts = _facts(kept)
        except (OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError):
            return None
        return facts if 0 <= age < MAX_AGE and facts.name == name else None

    def put(self, facts: InstanceTypeFacts) -> None:
        """Cache the facts about a type."""
        if (path := self._path(facts.name)) is None:
            return
        sets = {name: sorted(getattr(facts, name)) for name in _SETS}
        document = {**{name: getattr(facts, name) for name in _NAMES}, **sets, "asked_at": time.time()}
        try:
            private_files.write(path, json.dumps(document).encode())
        except OSError as error:
            logger.debug("Could not cache the facts about '%s': %s", facts.name, error)

    def _path(self, name: str) -> Path | None:
        if self._folder is None or not _TYPE_NAME.fullmatch(name):
            return None
        return self._folder / f"{self._prefix}-{name}.json"


def _facts(kept: dict[str, Any]) -> InstanceTypeFacts:
    """The facts, each value checked for its type: any program may have written the file.

    Raises:
        TypeError: A value is missing or unknown, or has a wrong type.
    """
    if kept.keys() != _NAMES.keys():
        raise TypeError(*kept)
    values = {**kept, **{name: _set(kept, name) for name in _SETS}}
    facts = InstanceTypeFacts(**values)
    types = {
        "name": str,
        "ebs_optimized": str,
        **dict.fromkeys(_SETS, frozenset),
        "store_disks": int,
        "store_gib": int,
        "max_ebs_attachments": int,
        "memory_mib": int,
    }
    for name in _NAMES:
        if type(getattr(facts, name)) is not types.get(name, bool):
            raise TypeError(name)
    return facts


def _set(kept: dict[str, Any], name: str) -> frozenset[str]:
    if not isinstance(kept[name], list):
        raise TypeError(name)
    return frozenset(map(str, kept[name]))
