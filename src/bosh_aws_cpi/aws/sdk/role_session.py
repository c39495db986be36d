"""An assumed role's credentials, which the SDK caches for later calls in the folder that the job names.

The job creates the folder in memory, readable for its user only. Calls of the same Director with the same
arguments of AssumeRole share the credentials, even if different keys assume the role.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.utils import JSONFileCache

from bosh_aws_cpi.aws.sdk.errors import EXPLICIT_DENY, SESSION_ENDED, UNAUTHORIZED
from bosh_aws_cpi.log import logger

_UNKNOWN_KEYS: Final = "not able to validate the provided access credentials"
"""A part of EC2's message if EC2 does not accept the keys. The code, AuthFailure, may also mean that another
account's AMI or elastic IP can't be used (EC2 API reference, "Error codes")."""
_IS_CACHED: Final = "signed_with_kept_credentials"
"""The key in a request's context that tells whether the request is signed with cached credentials."""


class _Cache(JSONFileCache):
    """The SDK's cache of credentials in files.

    Attributes:
        key: The key that the SDK looked up last.
        is_new: Whether STS returned new credentials since `is_new` was reset.
        is_refused: Whether the SDK must not use the cached credentials, because AWS refuses them.
    """

    key = ""
    is_new = False
    is_refused = False

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self._folder = Path(folder)

    def __contains__(self, cache_key: str) -> bool:
        self.key = cache_key
        return not self.is_refused and bool(super().__contains__(cache_key))

    def __setitem__(self, cache_key: str, value: object) -> None:
        self.is_new = True
        try:
            super().__setitem__(cache_key, value)
        except OSError as error:
            logger.debug("Could not keep the role's credentials: %s", error)
            for part in self._folder.glob("*.tmp"):  # botocore's incomplete files
                part.unlink(missing_ok=True)


class RoleCredentials(DeferredRefreshableCredentials):
    """A role's credentials, from the cache or from STS.

    Args:
        create_fetcher: Creates the SDK's fetcher for a cache.
        learn: Lets the log mask the credentials, and returns them.
        folder: The folder of the cache.
    """

    def __init__(
        self,
        create_fetcher: Callable[[Any], AssumeRoleCredentialFetcher],
        learn: Callable[[dict[str, Any]], dict[str, Any]],
        folder: str,
    ) -> None:
        super().__init__(self._load, "assume-role")
        self._cache = _Cache(folder)
        self._fetcher = create_fetcher(self._cache)
        self._learn = learn
        self._are_cached = False
        """Whether the credentials in use come from the cache, where an earlier call stored them."""
        self._are_refused = False

    def refresh_needed(self, refresh_in: int | None = None) -> bool:
        """Whether the next request needs other credentials."""
        return self._are_refused or super().refresh_needed(refresh_in)

    def before_sign(self, **event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        """Note in a request whether it is signed with cached credentials.

        When AWS refuses the request, another thread may already have replaced the credentials.
        """
        self.get_frozen_credentials()
        event["request"].context[_IS_CACHED] = self._are_cached

    def after_attempt(self, **event: Any) -> int | None:  # noqa: ANN401 - botocore's events are keywords
        """Delete cached credentials that AWS refuses, and retry the call at once (0) if new ones may help.

        The new credentials come from STS, so a call is retried only once. A call that AWS refuses for its
        credentials has had no effect.
        """
        error = event["response"][1].get("Error", {}) if event["response"] else {}
        is_ended = error.get("Code") in SESSION_ENDED or _UNKNOWN_KEYS in str(error.get("Message"))
        was_cached = event["request_dict"]["context"].get(_IS_CACHED)
        if not was_cached or not (is_ended or error.get("Code") in UNAUTHORIZED):
            return None
        # IAM revokes a role's sessions by a deny; without a deny, new credentials lack the permission, too.
        is_refused = is_ended or EXPLICIT_DENY in str(error.get("Message"))
        if self._are_cached:
            self._delete_cached()
            self._are_refused = is_refused
        return 0 if is_refused else None

    def _load(self) -> dict[str, Any]:
        self._cache.is_new, self._cache.is_refused = False, self._are_refused
        try:
            fetched = self._fetcher.fetch_credentials()
        except (LookupError, TypeError, ValueError):  # a damaged file
            self._delete_cached()
            fetched = self._fetcher.fetch_credentials()
        self._are_cached, self._are_refused = not self._cache.is_new, False
        return self._learn(fetched)

    def _delete_cached(self) -> None:
        with suppress(OSError, KeyError):
            del self._cache[self._cache.key]
