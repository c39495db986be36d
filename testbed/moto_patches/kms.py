"""KMS: the form of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moto.kms.responses import KmsResponse

from testbed.moto_patches.patching import Patches

if TYPE_CHECKING:
    from collections.abc import Callable

PATCHES = Patches()


@PATCHES.around(KmsResponse, "describe_key")
def described_as_json(original: Callable[..., Any], response: Any) -> Any:
    """KMS answers application/x-amz-json-1.1 (API model: protocol json 1.1); moto said it was a page."""
    return 200, {"Content-Type": "application/x-amz-json-1.1"}, original(response)
