"""Loads the SDK's own data files."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

from botocore.loaders import JSONFileLoader, Loader

from bosh_aws_cpi.aws.sdk import data_copies

LARGE: Final = 1 << 18
"""Files of at least this size in bytes are read from a cached copy that is cut to the CPI's needs: EC2's
model, and the endpoints of all services."""


class PlainJson(JSONFileLoader):
    """Reads a data file into plain dicts, which also keep their order.

    botocore's own reader calls a Python function for each object in EC2's large model, to create an
    OrderedDict. This would slow down every call of the CPI.

    Args:
        for_commands: Whether to read the data for operators' commands, which is larger.
    """

    def __init__(self, *, for_commands: bool = False) -> None:
        self._for_commands = for_commands

    def exists(self, file_path: str) -> bool:
        """Whether a file of this name exists; the name has no suffix."""
        return _existing(file_path) is not None

    def load_file(self, file_path: str) -> Any | None:  # noqa: ANN401 - any JSON value
        """The file's content; None when there is no such file."""
        path = _existing(file_path)
        if path is None:
            return None
        if path.stat().st_size < LARGE:
            return read(path)
        return data_copies.needed(path, read, for_commands=self._for_commands)


def loader(*, for_commands: bool = False) -> Loader:
    """A loader that reads only botocore's own data, not ~/.aws/models.

    Args:
        for_commands: Whether operators' commands use it, and not only the methods.
    """
    return Loader(
        extra_search_paths=[Loader.BUILTIN_DATA_PATH],
        file_loader=PlainJson(for_commands=for_commands),
        include_default_search_paths=False,
    )


def _existing(file_path: str) -> Path | None:
    paths = (Path(file_path + ending) for ending in (".json", ".json.gz"))
    return next((path for path in paths if path.is_file()), None)


def read(path: Path) -> Any:  # noqa: ANN401 - any JSON value
    """Read a file of JSON, compressed or not."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
