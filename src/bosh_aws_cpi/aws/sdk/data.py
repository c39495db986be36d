"""The SDK's own data: which files it is read from, and how."""

import gzip
import json
from pathlib import Path
from typing import Any, Final

from botocore.loaders import JSONFileLoader, Loader

LARGE: Final = 1 << 18
"""Bytes from which on a file is read from a copy that has only what the CPI needs: EC2's model, and the
endpoints of all services. The release's package brings none: its data is cut."""


class PlainJson(JSONFileLoader):
    """Reads a data file into plain dicts, which keep their order too.

    botocore's own reader calls Python for each object of EC2's large model, to make an
    ordered dict of it, and every call of the CPI would pay for that.
    """

    def exists(self, file_path: str) -> bool:
        """Whether there is a file of this name, which comes without its ending."""
        return _existing(file_path) is not None

    def load_file(self, file_path: str) -> Any | None:  # noqa: ANN401 - JSON is what it is
        """The file's content; None when it is not there."""
        path = _existing(file_path)
        if path is None:
            return None
        if path.stat().st_size < LARGE:
            return read(path)
        from bosh_aws_cpi.aws.sdk import data_copies  # noqa: PLC0415 - not where the data was cut before

        return data_copies.needed(path, read)


def loader() -> Loader:
    """A loader for the data that botocore brings, and not for what ~/.aws/models may hold in its place."""
    return Loader(
        extra_search_paths=[Loader.BUILTIN_DATA_PATH],
        file_loader=PlainJson(),
        include_default_search_paths=False,
    )


def _existing(file_path: str) -> Path | None:
    paths = (Path(file_path + ending) for ending in (".json", ".json.gz"))
    return next((path for path in paths if path.is_file()), None)


def read(path: Path) -> Any:  # noqa: ANN401 - JSON is what it is
    """Read a file of JSON, compressed or not."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
