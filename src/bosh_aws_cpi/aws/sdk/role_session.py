"""An assumed role's credentials, kept for later calls in the folder that the job names.

The folder is in memory, and only its user can access it. If a file in it can't be trusted, STS is asked.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from botocore.credentials import DeferredRefreshableCredentials

from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.aws.sdk.error_codes import SESSION_ENDED, UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import EXPLICIT_DENY
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.log import logger, redact

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL", "AWS_USE_FIPS_ENDPOINT")
"""Variables that decide which STS is asked."""
_FORMAT: Final = 1
"""Part of each file's name; change it when the content of the files changes."""
_LARGEST: Final = 65_536
_VALID: Final = 900
"""For how many seconds kept credentials must be valid: with fewer the SDK asks STS again during the call."""
_LIFE: Final = 3600
"""For how many seconds STS's credentials are valid, because the CPI asks for no other duration."""
_SKEW: Final = 900
"""How many seconds the machine's clock may be behind AWS's, which refuses requests beyond that."""
_SECRETS: Final = ("access_key", "secret_key", "token")
_MEMBERS: Final = (*_SECRETS, "expiry_time")
_UNKNOWN_KEYS: Final = "not able to validate the provided access credentials"
"""A part of EC2's message if it does not accept the keys. Its code, AuthFailure, also means that another
account's AMI or elastic IP may not be used (EC2 API reference, "Error codes")."""
_IS_KEPT: Final = "signed_with_kept_credentials"
"""A key in the context of a request: whether it is signed with kept credentials."""


class RoleCredentials(DeferredRefreshableCredentials):
    """A role's credentials: kept ones, or STS's.

    Args:
        fetch: Gets them from STS, with the SDK's names for their parts.
        file: Where they are kept.
    """

    def __init__(self, fetch: Callable[[], dict[str, Any]], file: Path) -> None:
        super().__init__(self._load, "assume-role")
        self._fetch = fetch
        self._file = file
        self._are_kept = False
        """Whether those in use come from the file."""
        self._are_refused = False

    def refresh_needed(self, refresh_in: int | None = None) -> bool:
        """Whether the next request needs other credentials."""
        return self._are_refused or super().refresh_needed(refresh_in)

    def before_sign(self, **event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        """Note whether a request is signed with kept credentials.

        When AWS refuses it, another thread may have new ones already.
        """
        self.get_frozen_credentials()
        event["request"].context[_IS_KEPT] = self._are_kept

    def after_attempt(self, **event: Any) -> int | None:  # noqa: ANN401 - botocore's events are keywords
        """Delete kept credentials that AWS refuses, and retry the call at once (0) if others may help.

        Only STS's own are used after that, so that a call is retried once. A call that AWS refuses for its
        credentials has had no effect.
        """
        error = event["response"][1].get("Error", {}) if event["response"] else {}
        is_ended = error.get("Code") in SESSION_ENDED or _UNKNOWN_KEYS in str(error.get("Message"))
        was_kept = event["request_dict"]["context"].get(_IS_KEPT)
        if not was_kept or not (is_ended or error.get("Code") in UNAUTHORIZED):
            return None
        # IAM revokes a role's sessions by a deny; without one a permission is missing, with any credentials.
        is_refused = is_ended or EXPLICIT_DENY in str(error.get("Message"))
        if self._are_kept:
            with suppress(OSError):
                self._file.unlink()
            self._are_refused = is_refused
        return 0 if is_refused else None

    def _load(self) -> dict[str, Any]:
        kept = None if self._are_refused else _read(self._file)
        found = kept or self._fetch()
        if kept is None:
            _write(self._file, found)
        self._are_kept, self._are_refused = kept is not None, False
        return found


def file_in(folder: str, config: AwsConfig, asked: list[Any]) -> Path | None:
    """The file for a role's credentials, whose name depends on all that decides what STS answers.

    Args:
        folder: Its absolute path.
        asked: AssumeRole's arguments, and the keys that call it: who can tell the file's name has them.

    Returns:
        None if there is no such folder, or not only this user can access it.
    """
    path = Path(folder)
    if not path.is_absolute() or not private_files.is_private(path):
        return None
    endpoint = [config.region, config.endpoints.get("sts"), config.dualstack, config.fips]
    text = json.dumps([_FORMAT, asked, endpoint, [os.environ.get(name) for name in _ENDPOINTS]])
    return path / f"role-{sha256(text.encode()).hexdigest()}.json"


def _read(file: Path) -> dict[str, Any] | None:
    """The credentials in a file; None if it is missing, expires soon, or can't be trusted."""
    try:
        kept = json.loads(private_files.read_own(file, _LARGEST))
        found: dict[str, Any] = {name: kept[name] for name in (*_MEMBERS, "account_id")}
        left = (datetime.fromisoformat(found["expiry_time"]) - datetime.now(UTC)).total_seconds()
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if not (_VALID < left <= _LIFE + _SKEW and all(isinstance(found[name], str) for name in _MEMBERS)):
        return None
    redact.learn({"credentials": [found[name] for name in _SECRETS]})
    return found


def _write(file: Path, credentials: dict[str, Any]) -> None:
    """Keep credentials for later calls, and delete all that have expired."""
    try:
        with suppress(FileNotFoundError):
            if file.lstat().st_uid != os.geteuid():
                logger.warning("The role's credentials can't be kept: '%s' belongs to another user", file)
                return
        private_files.write(file, json.dumps(credentials).encode())
    except OSError as error:
        logger.debug("Could not keep the role's credentials: %s", error)
    private_files.delete_older(file.parent, "role-*", _LIFE)
