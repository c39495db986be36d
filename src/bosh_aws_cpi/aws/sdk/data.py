"""Loads the SDK's own data files.

The first call leaves copies of the large files, cut to the parts that the CPI needs, for later calls, because
an installation with pip has no step that could.
"""

import gzip
import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import botocore
from botocore.loaders import JSONFileLoader, Loader

from bosh_aws_cpi.aws.sdk import data_cut, private_files

LARGE: Final = 1 << 18
"""Files of at least this size in bytes are cut: EC2's model, and the endpoints of all services."""
MAX_AGE: Final = 30 * 86_400
"""For how many seconds a copy is read; after that it is deleted, since botocore may have been upgraded."""
ACTIONS: Final = Path(__file__).with_stem("permissions")
"""The file of the table of AWS calls: to read it takes less than to load it."""


class PlainJson(JSONFileLoader):
    """Reads a data file into plain dicts, which also keep their order.

    botocore's own reader calls a Python function for each object in EC2's large model, to create an
    OrderedDict. This would slow down every call of the CPI.

    Args:
        for_commands: Whether to read the data for operators' commands, which is larger.
    """

    def __init__(self, *, for_commands: bool = False) -> None:
        self._for_commands = for_commands

    def load_file(self, file_path: str) -> Any | None:  # noqa: ANN401 - any JSON value
        """The file's content, cut to what the CPI needs if it is large; None when there is no such file."""
        path = _existing(file_path)
        if path is None or path.stat().st_size < LARGE:
            return path and _read(path)
        copy = self._copy_of(path)
        document = private_files.read_json(copy, MAX_AGE, dict)
        if document is None:
            kind = path.name.partition(".")[0]
            document = data_cut.cut(kind, _read(path), for_commands=self._for_commands)
            private_files.write_json(copy, document, "the SDK's data")
            if copy:
                private_files.delete_older(copy.parent, "sdk-*", MAX_AGE)
        return document

    def _copy_of(self, path: Path) -> Path | None:
        """The copy's path; its name depends on the file, the table of AWS calls and the copy's format."""
        folder = private_files.folder()
        found = path.stat()
        source = [botocore.__version__, str(path), found.st_size, found.st_mtime_ns]
        text = json.dumps([data_cut.FORMAT, source, self._for_commands])
        name = sha256(text.encode() + ACTIONS.read_bytes()).hexdigest()[:16]
        return folder and folder / f"sdk-{name}.json"


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


def _read(path: Path) -> Any:  # noqa: ANN401 - any JSON value
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
