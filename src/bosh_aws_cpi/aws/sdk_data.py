"""The SDK's own data: which files it is read from, and how."""

import gzip
import json
from pathlib import Path
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


class PlainJson(JSONFileLoader):
    """Reads a data file into plain dicts, which keep their order too.

    botocore's own reader calls Python for each object of EC2's large model, to make an
    ordered dict of it, and every call of the CPI would pay for that.
    """

    def exists(self, file_path: str) -> bool:
        """Whether there is a file of this name, which comes without its ending."""
        return any(Path(file_path + ending).is_file() for ending in (".json", ".json.gz"))

    def load_file(self, file_path: str) -> Any | None:  # noqa: ANN401 - JSON is what it is
        """The file's content; None when it is not there."""
        plain = Path(f"{file_path}.json")
        if plain.is_file():
            return json.loads(plain.read_bytes())
        compressed = Path(f"{file_path}.json.gz")
        return json.loads(gzip.decompress(compressed.read_bytes())) if compressed.is_file() else None


def loader() -> Loader:
    """A loader for the data that botocore brings, and not for what ~/.aws/models may hold in its place."""
    return Loader(
        extra_search_paths=[Loader.BUILTIN_DATA_PATH],
        file_loader=PlainJson(),
        include_default_search_paths=False,
    )
