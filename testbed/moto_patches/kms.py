"""KMS: the form of its answers."""

from __future__ import annotations

from typing import Any

from moto.kms.responses import KmsResponse

from testbed.moto_patches.patching import Original, Patches

PATCHES = Patches()


@PATCHES.around(KmsResponse, "describe_key")
def described_as_json(original: Original, response: Any) -> Any:
    """KMS answers application/x-amz-json-1.1 (API model: protocol json 1.1); moto said it was a page."""
    return 200, {"Content-Type": "application/x-amz-json-1.1"}, original(response)
