"""The descriptions of the cloud properties."""

import json
import re
from importlib import import_module

from bosh_aws_cpi.plan.subnet_ranges import DEFAULT_BITS

texts = import_module("scripts.property_texts")
WITHOUT_TEXTS = {"StemcellProperties"}
"""Has its texts where a heavy stemcell has them."""
ELSEWHERE = {"netmask_bits": DEFAULT_BITS}
"""Defaults that the fields of the models don't have."""


def test_defaults() -> None:
    """A default that a text names as a value is the one of the code."""
    named = [
        (
            f"{model.__name__}.{name}",
            literal[1],
            ELSEWHERE.get(name, model.model_fields[name].default),
        )
        for model in texts.HASHES.values()
        if model.__name__ not in WITHOUT_TEXTS
        for name in texts.names_of(model)
        if (literal := re.fullmatch(r"`([^`.]+)`", texts.property_text(model, name).default))
    ]
    wrong = [
        f"the text of {name} names {said}, but the code has {default}"
        for name, said, default in named
        if said != (default if isinstance(default, str) else json.dumps(default))
    ]
    assert named
    assert wrong == []
