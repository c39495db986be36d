"""A role's credentials that are kept: events during one call that nothing real shows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest

from bosh_aws_cpi.aws.sdk.role_session import RoleCredentials

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
        self.minutes: float = 60

    def fetch(self) -> dict[str, Any]:
        """Issue credentials."""
        self.issued += 1
        expiry = (datetime.now(UTC) + timedelta(minutes=self.minutes)).isoformat()
        secrets = {"secret_key": "secret-key", "token": "session-token"}
        return {"access_key": f"ASIA{self.issued}", **secrets, "expiry_time": expiry, "account_id": None}


def key(credentials: RoleCredentials) -> str:
    """Return the key that signs the next request."""
    return str(credentials.get_frozen_credentials().access_key)


def signed(credentials: RoleCredentials) -> AWSRequest:
    """Sign a request."""
    request = AWSRequest()
    credentials.before_sign(request=request)
    return request


def refused(credentials: RoleCredentials, request: AWSRequest | None = None) -> int | None:
    """Have AWS refuse a request; by default one that is signed now."""
    request = request or signed(credentials)
    document = {"context": request.context}
    return credentials.after_attempt(response=(None, {"Error": REVOKED}), request_dict=document)


@pytest.fixture
def sts() -> Sts:
    """Return what issues credentials."""
    return Sts()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return where they are kept."""
    return tmp_path / "role-1.json"


@pytest.fixture
def kept(sts: Sts, file: Path) -> RoleCredentials:
    """Return credentials that an earlier call has kept."""
    key(RoleCredentials(sts.fetch, file))
    credentials = RoleCredentials(sts.fetch, file)
    assert key(credentials) == "ASIA1"
    return credentials


def test_renewed_by_another_process(sts: Sts, file: Path) -> None:
    """A call that needs new credentials takes those that another process has kept meanwhile."""
    sts.minutes = 14  # they are renewed for the next request, and no other process uses them
    first = RoleCredentials(sts.fetch, file)
    assert key(first) == "ASIA1"
    sts.minutes = 60
    assert key(RoleCredentials(sts.fetch, file)) == "ASIA2"
    assert key(first) == "ASIA2"
    assert sts.issued == 2


def test_refused_file_that_stays(kept: RoleCredentials, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused credentials are not used again if their file can't be deleted; a request is retried once."""

    def unlink(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "unlink", unlink)
    assert refused(kept) == 0
    assert key(kept) == "ASIA2"
    assert refused(kept) is None
    assert key(kept) == "ASIA2"


def test_threads(kept: RoleCredentials, file: Path) -> None:
    """All requests that were on their way with refused credentials are retried, and STS is asked once."""
    first, second = signed(kept), signed(kept)
    assert refused(kept, first) == 0
    assert key(kept) == "ASIA2"
    assert refused(kept, second) == 0
    assert key(kept) == "ASIA2"
    assert file.exists()


def test_kept_ones_that_end(sts: Sts, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept credentials that are taken again when they end soon are still kept ones, which AWS may refuse."""
    sts.minutes = 15.01
    key(RoleCredentials(sts.fetch, file))
    kept = RoleCredentials(sts.fetch, file)
    assert key(kept) == "ASIA1"
    soon = datetime.now(UTC) + timedelta(minutes=2)
    monkeypatch.setattr(kept, "_time_fetcher", lambda: soon)
    assert refused(kept, signed(kept)) == 0
    assert not file.exists()


def test_lost_answer(kept: RoleCredentials, file: Path) -> None:
    """An attempt without an answer says nothing about credentials."""
    document = {"context": signed(kept).context}
    assert kept.after_attempt(response=None, request_dict=document) is None
    assert file.exists()
