"""Facts of instance types, kept in a private directory of the user for a day.

Every call is a process of its own, and a deploy asks for the same few types hundreds of
times. The directory is shared by processes that run at once: each type is a file of its
own that is put in place by a rename, so a reader finds a whole one or none. A cache that
can't be used is no error: EC2 is asked then.
"""

import json
import re
import time
from dataclasses import asdict, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import InstanceTypeFacts

MAX_AGE = 86_400
"""Seconds."""
_FORMAT = 2
"""Part of each file's name, to be changed with what the files hold."""
_TYPE_NAME = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+")


class TypeCache:
    """The kept facts of one endpoint.

    Args:
        endpoint: Where the facts come from: another region's, or a stand-in's, are kept apart.
    """

    def __init__(self, endpoint: str) -> None:
        self._prefix = f"{_FORMAT}-{sha256(endpoint.encode()).hexdigest()[:16]}"
        self._folder = private_files.folder()

    def get(self, name: str) -> InstanceTypeFacts | None:
        """The facts of a type; None when none are kept, or they are more than a day old."""
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
        """Keep the facts of a type."""
        if (path := self._path(facts.name)) is None:
            return
        document = {**asdict(facts), "architectures": sorted(facts.architectures), "asked_at": time.time()}
        try:
            private_files.write(path, json.dumps(document).encode())
        except OSError as error:
            logger.debug("Facts of '%s' are not kept: %s", facts.name, error)

    def _path(self, name: str) -> Path | None:
        if self._folder is None or not _TYPE_NAME.fullmatch(name):
            return None
        return self._folder / f"{self._prefix}-{name}.json"


def _facts(kept: dict[str, Any]) -> InstanceTypeFacts:
    """The facts, whose every value has its type: the file may be of any origin.

    Raises:
        TypeError: One has another.
    """
    architectures = kept["architectures"]
    if not isinstance(architectures, list):
        raise TypeError("architectures")
    values = {**kept, "architectures": frozenset(map(str, architectures))}
    facts = InstanceTypeFacts(**values)
    types = {
        "name": str,
        "ebs_optimized": str,
        "architectures": frozenset,
        "store_disks": int,
        "store_gib": int,
        "max_ebs_attachments": int,
    }
    for field in fields(facts):
        if type(getattr(facts, field.name)) is not types.get(field.name, bool):
            raise TypeError(field.name)
    return facts
