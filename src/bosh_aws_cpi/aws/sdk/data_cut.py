"""Cuts the SDK's data to what the CPI reads, when the package is built (hatch_build.py, install.py).

botocore builds each client from a service's model, a JSON document that is mostly documentation, with a
method for each operation in the model: 800 for EC2, of which the CPI calls 40. Every call of the CPI loads
this data, so the data that only operators' commands need is in a second, larger cut.
"""

import gzip
import json
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from bosh_aws_cpi.aws.sdk.data import FOLDER, name_of
from bosh_aws_cpi.aws.sdk.permissions import operations

SERVICES: Final = {
    "ebs": "ebs",
    "ec2": "ec2",
    "elb": "elasticloadbalancing",
    "elbv2": "elasticloadbalancing",
    "sts": "sts",
}
"""The AWS services that the methods call: the name in the list of endpoints by botocore's name."""
COMMAND_SERVICES: Final = {"iam": "iam", "kms": "kms", "service-quotas": "servicequotas"}
"""The services that only operators' commands call; the same names."""
LARGE: Final = 1 << 18
"""The minimum size in bytes, compressed or not, of files to cut: EC2's model and the list of endpoints."""


def write(botocore: Path, version: str, folder: Path = FOLDER) -> None:
    """Write both cuts of the large files.

    Args:
        botocore: The folder of botocore.
        version: The version of botocore; with another version, calls read botocore's own files.
        folder: The folder for the cuts.
    """
    shutil.rmtree(folder, ignore_errors=True)
    data = botocore / "data"
    for path in (each for each in data.rglob("*.json*") if each.stat().st_size >= LARGE):
        if path.parent not in {data, *(data / name / path.parent.name for name in SERVICES)}:
            continue
        content = path.read_bytes()
        document = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
        kind = path.name.partition(".")[0]
        for for_commands in (False, True):
            target = folder / name_of(version, str(path.with_name(kind)), for_commands=for_commands)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                json.dumps(cut(kind, document, for_commands=for_commands), separators=(",", ":"))
            )


def cut(kind: str, document: Any, *, for_commands: bool = False) -> Any:  # noqa: ANN401 - any JSON value
    """Return a copy of a document with only the parts that the CPI reads.

    Args:
        kind: botocore's name for the document: "service-2", "endpoints", or another, which is not cut.
        document: The document's content.
        for_commands: Whether operators' commands read the document, not only the methods.
    """
    if kind == "service-2":
        return {**document, **_cut_model(document, operations(for_commands=for_commands))}
    if kind == "endpoints":
        names = {*SERVICES.values(), *(COMMAND_SERVICES.values() if for_commands else ())}
        partitions = [
            {**each, "services": {name: own for name, own in each["services"].items() if name in names}}
            for each in document["partitions"]
        ]
        return {**document, "partitions": partitions}
    return document


def _cut_model(document: dict[str, Any], called: Collection[str]) -> dict[str, Any]:
    """The called operations of a service's model, and the shapes that these operations need."""
    kept = {name: each for name, each in document["operations"].items() if name in called}
    shapes: dict[str, Any] = {}
    pending = references(kept)
    while pending:
        name = pending.pop()
        shapes[name] = document["shapes"][name]
        pending |= references(shapes[name]) - shapes.keys()
    ordered = dict(sorted(shapes.items()))  # so that each build writes the same text
    return {"operations": without_documentation(kept), "shapes": without_documentation(ordered)}


def references(value: Any) -> set[str]:  # noqa: ANN401 - any JSON value
    """Return the names of the shapes to which a part of a model refers; a member may be named "shape"."""
    if isinstance(value, list):
        return {name for item in value for name in references(item)}
    if not isinstance(value, dict):
        return set()
    named = {item for key, item in value.items() if key == "shape" and isinstance(item, str)}
    return named.union(*map(references, value.values()))


def without_documentation(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without documentation texts; a member that is named "documentation" stays."""
    if isinstance(value, list):
        return [without_documentation(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_documentation(item)
        for key, item in value.items()
        if key != "documentation" or not isinstance(item, str)
    }
