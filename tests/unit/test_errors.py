"""The errors a caller can be answered with."""

import pytest

from bosh_aws_cpi import errors
from bosh_aws_cpi.errors import BoshError, CloudError, CpiError

KINDS = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, BoshError) and each is not BoshError
]
OTHERS = {"InvalidCall": "InvalidCall", "Unknown": "Unknown"}
"""Those outside of the tree of Bosh::Clouds."""


@pytest.mark.parametrize("kind", KINDS)
def test_wire_types(kind: type[BoshError]) -> None:
    """Each error has the name that callers know."""
    name = kind.__name__.replace("MethodNotImplemented", "NotImplemented")
    assert kind.wire_type == OTHERS.get(name, f"Bosh::Clouds::{name}")
    assert issubclass(kind, CloudError | CpiError) is (name not in OTHERS)
