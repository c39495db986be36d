"""Loads the SDK's data files; for a large file, the cut that `data_cut` wrote for the package.

Without cuts for the installed version of botocore, this loads botocore's own files.
"""

import gzip
import json
from pathlib import Path
from typing import Any, Final

import botocore
from botocore.loaders import JSONFileLoader, Loader

FOLDER: Final = Path(__file__).with_name("cuts")
"""The folder of the cuts."""


def name_of(version: str, file_path: str, *, for_commands: bool) -> str:
    """The path of a cut, relative to the folder of the cuts.

    Args:
        version: The version of botocore.
        file_path: The path of botocore's file, without its extension.
        for_commands: Whether to return the larger cut, for operators' commands.
    """
    *_, data = file_path.rpartition("/data/")
    return f"{version}/{'commands' if for_commands else 'methods'}/{data.replace('/', '-')}.json"


class PlainJson(JSONFileLoader):
    """Reads a data file into plain dicts, which also keep their order.

    botocore's own reader calls a Python function for each object in EC2's large model, to create an
    OrderedDict. This would slow down every call of the CPI.

    Args:
        for_commands: Whether to read the larger cut, for operators' commands.
    """

    def __init__(self, *, for_commands: bool = False) -> None:
        self._for_commands = for_commands

    def load_file(self, file_path: str) -> Any | None:  # noqa: ANN401 - any JSON value
        """Return the content of a data file, or of its cut; None when there is no such file."""
        own = FOLDER / name_of(botocore.__version__, file_path, for_commands=self._for_commands)
        paths = (own, Path(file_path + ".json"), Path(file_path + ".json.gz"))
        if (path := next((path for path in paths if path.is_file()), None)) is None:
            return None
        content = path.read_bytes()
        return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)


def loader(*, for_commands: bool = False) -> Loader:
    """Return a loader that reads only botocore's data, not ~/.aws/models.

    Args:
        for_commands: Whether the loader is for operators' commands, not only for the methods.
    """
    return Loader(
        extra_search_paths=[Loader.BUILTIN_DATA_PATH],
        file_loader=PlainJson(for_commands=for_commands),
        include_default_search_paths=False,
    )
