"""A role's credentials that are kept: events during one call that nothing real shows."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest

from bosh_aws_cpi.aws.sdk.role_session import RoleCredentials
from tests.unit.conftest import ProgramLog

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


def open_to_all(file: Path) -> None:
    """Make the file one that others can read."""
    file.chmod(0o640)


def linked(file: Path) -> None:
    """Make the file a symbolic link to a private file."""
    file.symlink_to(file.rename(file.with_name("target")))


def linked_twice(file: Path) -> None:
    """Give the file a second name."""
    file.with_name("target").hardlink_to(file)


def a_pipe(file: Path) -> None:
    """Put a pipe in the file's place, which nobody writes."""
    file.unlink()
    os.mkfifo(file, 0o600)


def with_blanks(file: Path) -> None:
    """Make the file larger than any honest one."""
    file.write_text(file.read_text() + " " * 70_000)


def dated_ahead(file: Path) -> None:
    """Let the file be of the future, as after the clock was set back."""
    later = datetime.now(UTC).timestamp() + 300
    os.utime(file, (later, later))


def changed(**members: Any) -> Callable[[Path], None]:
    """Make a function that changes members of the file, which are private as before."""

    def change(file: Path) -> None:
        file.write_text(json.dumps({**json.loads(file.read_text()), **members}))

    return change


def expiring(minutes: int, end: int | None = None) -> Callable[[Path], None]:
    """Make a function that lets the credentials expire so far from then; `end` cuts the time's text."""

    def change(file: Path) -> None:
        changed(expiry_time=(datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()[:end])(file)

    return change


DAMAGES: dict[str, Callable[[Path], None]] = {
    "open to all": open_to_all,
    "linked": linked,
    "linked twice": linked_twice,
    "a pipe": a_pipe,
    "too large": with_blanks,
    "dated ahead": dated_ahead,
    "a member of another type": changed(token=["planted-token"]),
    "no time": changed(expiry_time="soon"),
    "time without a zone": expiring(50, 19),
    "expires soon": expiring(14),
    "expires too late": expiring(80),
}


@pytest.mark.parametrize("minutes", [16, 74])
def test_kept_ones_are_used(kept: RoleCredentials, sts: Sts, file: Path, minutes: int) -> None:
    """Credentials are used until 15 minutes before they expire, also by a clock that is behind AWS's."""
    assert key(kept) == "ASIA1"
    expiring(minutes)(file)
    assert key(RoleCredentials(sts.fetch, file)) == "ASIA1"


@pytest.mark.parametrize("damage", DAMAGES)
def test_file_that_is_not_used(kept: RoleCredentials, sts: Sts, file: Path, damage: str) -> None:
    """A file that can't be trusted, or expires soon, is not used but replaced; what it links to is left."""
    assert key(kept) == "ASIA1"
    target = file.with_name("target")
    DAMAGES[damage](file)
    before = target.read_bytes() if target.exists() else b""
    assert key(RoleCredentials(sts.fetch, file)) == "ASIA2"
    assert key(RoleCredentials(sts.fetch, file)) == "ASIA2"
    assert not file.is_symlink()
    assert file.stat().st_nlink == 1
    assert (target.read_bytes() if target.exists() else b"") == before


def test_file_of_another_user(
    kept: RoleCredentials, sts: Sts, file: Path, program_log: ProgramLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another user is neither used nor touched, and a warning names it."""
    assert key(kept) == "ASIA1"
    before, another = file.read_bytes(), os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: another)
    assert key(RoleCredentials(sts.fetch, file)) == "ASIA2"
    assert file.read_bytes() == before
    (record,) = program_log.records
    said = f"The role's credentials can't be kept: '{file}' belongs to another user"
    assert (record.level, record.text) == ("WARNING", said)
