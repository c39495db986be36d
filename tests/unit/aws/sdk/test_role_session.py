"""A role's credentials that are kept: events during one call that nothing real shows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import AssumeRoleCredentialFetcher, Credentials

from bosh_aws_cpi.aws.sdk.role_session import RoleCredentials
from tests.unit.aws.timing_script import Script

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

    def assume_role(self, **_: Any) -> dict[str, Any]:
        """Issue credentials."""
        self.issued += 1
        expiry = datetime.now(UTC) + timedelta(minutes=self.minutes)
        secrets = {"SecretAccessKey": "secret-key", "SessionToken": "session-token"}
        return {"Credentials": {"AccessKeyId": f"ASIA{self.issued}", **secrets, "Expiration": expiry}}

    def credentials(self, folder: Path) -> RoleCredentials:
        """Return a role's credentials, kept in a folder."""

        def fetcher(cache: Any) -> AssumeRoleCredentialFetcher:
            own = Credentials("AKIA1", "own")
            create: Any = lambda *_, **__: self  # noqa: E731
            return AssumeRoleCredentialFetcher(create, own, "role", cache=cache)

        return RoleCredentials(fetcher, lambda found: found, str(folder))


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
def kept(sts: Sts, tmp_path: Path) -> RoleCredentials:
    """Return credentials that an earlier call has kept."""
    key(sts.credentials(tmp_path))
    credentials = sts.credentials(tmp_path)
    assert key(credentials) == "ASIA1"
    return credentials


def test_renewed_by_another_process(sts: Sts, tmp_path: Path) -> None:
    """A call that needs new credentials takes those that another process has kept meanwhile."""
    sts.minutes = 14  # they are renewed for the next request, and no other process uses them
    first = sts.credentials(tmp_path)
    assert key(first) == "ASIA1"
    sts.minutes = 60
    assert key(sts.credentials(tmp_path)) == "ASIA2"
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


def test_threads(kept: RoleCredentials, tmp_path: Path) -> None:
    """All requests that were on their way with refused credentials are retried, and STS is asked once."""
    first, second = signed(kept), signed(kept)
    assert refused(kept, first) == 0
    assert key(kept) == "ASIA2"
    assert refused(kept, second) == 0
    assert key(kept) == "ASIA2"
    assert [*tmp_path.iterdir()]


def test_kept_ones_that_end(sts: Sts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept credentials that are taken again when they end soon are still kept ones, which AWS may refuse."""
    sts.minutes = 15.2
    key(sts.credentials(tmp_path))
    kept = sts.credentials(tmp_path)
    assert key(kept) == "ASIA1"
    soon = datetime.now(UTC) + timedelta(minutes=2)
    monkeypatch.setattr(kept, "_time_fetcher", lambda: soon)
    assert refused(kept, signed(kept)) == 0
    assert not [*tmp_path.iterdir()]


def test_lost_answer(kept: RoleCredentials, tmp_path: Path) -> None:
    """An attempt without an answer says nothing about credentials."""
    document = {"context": signed(kept).context}
    assert kept.after_attempt(response=None, request_dict=document) is None
    assert [*tmp_path.iterdir()]


def test_full_folder(sts: Sts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that can't be kept are used, and no part of them stays in the folder."""
    full = Script(OSError("No space left on device"))
    monkeypatch.setattr("os.replace", lambda *_: full())
    assert key(sts.credentials(tmp_path)) == "ASIA1"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("damage", ["", "{", "{}", '{"Credentials": {"Expiration": "soon"}}'])
def test_damaged_file(kept: RoleCredentials, sts: Sts, tmp_path: Path, damage: str) -> None:
    """A file that can't be read is replaced."""
    assert key(kept) == "ASIA1"
    (file,) = tmp_path.iterdir()
    file.write_text(damage)
    for _ in range(2):
        assert key(sts.credentials(tmp_path)) == "ASIA2"
