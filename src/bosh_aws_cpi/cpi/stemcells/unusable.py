"""The reason why a stemcell's image can't be used; `image_file` adds the path."""

from typing import Final

_DOWNLOAD: Final = "Download the stemcell again"


class Unusable(Exception):
    """The image is wrong.

    Args:
        what: Completes "Stemcell image '…' …".
        remedy: What the operator can do, without a full stop.
    """

    def __init__(self, what: str, remedy: str = _DOWNLOAD) -> None:
        super().__init__(f"{what}. {remedy}")


def damaged(what: str) -> Unusable:
    """The error for an archive that breaks its format's rules.

    Args:
        what: The broken rule, and where.
    """
    return Unusable(f"is truncated or damaged: {what}")
