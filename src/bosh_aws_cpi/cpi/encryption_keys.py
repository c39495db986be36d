"""Names the KMS keys of a call in errors about a key: AWS often says only that some key can't be used."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from botocore.exceptions import ClientError

from bosh_aws_cpi.aws.sdk.errors import code_of, is_transient
from bosh_aws_cpi.aws.sdk.translation import explain
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.properties.types import Encryptable, Review

USABLE: Final = (
    "exists, is enabled and not pending deletion, and that its policy lets the CPI's user or role use it and "
    "create grants"
)
"""What to check of a KMS key that AWS can't use, as the end of a remedy."""
_ABOUT_A_KEY: Final = re.compile(r"KMS ?[Kk]ey|CustomerKey|[Kk]ey ID")
"""Matches AWS's codes and messages about a KMS key, and the remedies for them."""


def review_key(
    own: Encryptable, encryption: Encryption, review: Review, path: str = "cloud_properties"
) -> None:
    """Report a KMS key that encrypts nothing: an own key as a problem, a default key as ignored.

    Args:
        own: The properties.
        encryption: What applies: the properties' own, with the defaults.
        review: Collects both.
        path: Where the properties stand.
    """
    review.problems += [each.replace(text=f"{path}.{each.text}") for each in own.key_problems(encryption)]
    if (key := encryption.unused_key) and not own.kms_key_arn:
        review.ignore(key, f"Ignored: {key}, because encrypted is not true", "encrypted")


def check_key(
    own: Encryptable, encryption: Encryption, path: str = "cloud_properties", *, is_encrypted: bool = False
) -> None:
    """Refuse an own KMS key that encrypts nothing, and log a default key that encrypts nothing.

    Args:
        is_encrypted: Whether the properties are for a disk that is encrypted, and stays so.

    Raises:
        CloudError: They have a key, and nothing encrypts.
    """
    review = Review()
    review_key(own, encryption, review, path)
    if is_encrypted:
        review.ignored.clear()
    review.accept(own)


def add_keys(message: str, keys: Iterable[str]) -> str:
    """Return an error's message; a message about a KMS key also names the keys.

    Args:
        keys: Each as `Encryption.key_text` shows it; an empty one stands for no encryption.
    """
    named = list(dict.fromkeys(filter(None, keys)))
    if not named or not _ABOUT_A_KEY.search(message):
        return message
    return f"{message}. The call encrypts with {' and '.join(named)}"


@contextmanager
def naming_keys(*keys: str) -> Iterator[None]:
    """Name the keys in an error about a KMS key; see `add_keys`.

    Raises:
        CloudError: AWS refuses a key.
    """
    try:
        yield
    except CloudError as error:
        error.message = add_keys(error.message, keys)
        raise
    except ClientError as error:
        if is_transient(error) or not _ABOUT_A_KEY.search(code_of(error)):
            raise
        raise CloudError(add_keys(explain(error), keys)) from error
