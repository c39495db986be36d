"""A role's credentials that are kept: events during one call that nothing real shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.aws.sdk.role_session import RoleCredentials

if TYPE_CHECKING:
    import pytest

REVOKED = {"Code": "ExpiredToken", "Message": "The security token included in the request is expired"}


class Sts:
    """Issues credentials with the keys ASIA1, ASIA2 and so on.

    Attributes:
        issued: How many it has issued.
        minutes: For how long.
    """

    def __init__(self) -> None:
        """Issue credentials for an hour."""
        self.issued = 0
        self.minutes = 60

    def fetch(self) -> dict[str, Any]:
        """Issue credentials."""
        self.issued += 1
        expiry = (datetime.now(UTC) + timedelta(minutes=self.minutes)).isoformat()
        secrets = {"secret_key": "secret-key", "token": "session-token"}
        return {"access_key": f"ASIA{self.issued}", **secrets, "expiry_time": expiry, "account_id": None}


def key(credentials: RoleCredentials) -> str:
    """Return the key that signs the next request."""
    return str(credentials.get_frozen_credentials().access_key)


def refused(credentials: RoleCredentials) -> int | None:
    """Have AWS refuse a request."""
    return credentials.after_attempt(response=(None, {"Error": REVOKED}))


def test_renewed_by_another_process(tmp_path: Path) -> None:
    """A call that needs new credentials takes those that another process has kept meanwhile."""
    sts, file = Sts(), tmp_path / "role-1.json"
    sts.minutes = 14  # they are renewed for the next request, and no other process uses them
    first = RoleCredentials(sts.fetch, file)
    assert key(first) == "ASIA1"
    sts.minutes = 60
    assert key(RoleCredentials(sts.fetch, file)) == "ASIA2"
    assert key(first) == "ASIA2"
    assert sts.issued == 2


def test_refused_file_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused credentials are not used again if their file can't be deleted; a request is retried once."""
    sts, file = Sts(), tmp_path / "role-1.json"
    key(RoleCredentials(sts.fetch, file))
    credentials = RoleCredentials(sts.fetch, file)
    assert key(credentials) == "ASIA1"

    def unlink(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "unlink", unlink)
    assert refused(credentials) == 0
    assert key(credentials) == "ASIA2"
    assert refused(credentials) is None
    assert key(credentials) == "ASIA2"


def test_lost_answer(tmp_path: Path) -> None:
    """An attempt without an answer says nothing about credentials."""
    sts, file = Sts(), tmp_path / "role-1.json"
    key(RoleCredentials(sts.fetch, file))
    credentials = RoleCredentials(sts.fetch, file)
    key(credentials)
    assert credentials.after_attempt(response=None) is None
    assert file.exists()
