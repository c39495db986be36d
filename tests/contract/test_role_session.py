"""A role is assumed once: its credentials are kept for later calls, where that is safe."""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, SERVICES, Answer, Cpi, config, finish
from testbed.loopback import Reply, Request
from testbed.proxy import AwsCall, Relay

pytestmark = pytest.mark.usefixtures("warm")

DISK = "vol-00000000000000001"
ROLE_ARN = "arn:aws:iam::123456789012:role/cpi"
STS, EC2 = "AssumeRole", "DescribeVolumes"
REFUSED = "<Response><Errors><Error><Code>{}</Code><Message>{}</Message></Error></Errors></Response>"
DENIED = "You are not authorized to perform this operation. User: x is not authorized to perform: ec2:x"
"""EC2's message for a missing permission; with `REVOKED` for one that a policy denies."""
REVOKED = f"{DENIED} with an explicit deny in an identity-based policy"
MINUTE = 60


class Front(Relay):
    """Stands in front of AWS, and refuses keys there.

    Attributes:
        refused: The error's code and message for each refused key; "*" stands for all.
    """

    def __init__(self, upstream: str) -> None:
        """Refuse none."""
        super().__init__(upstream)
        self.refused: dict[str, tuple[str, str]] = {}

    def reply(self, request: Request) -> Reply:
        """Refuse or pass on."""
        call = AwsCall.read(request)
        if call.action != STS and (said := self.refused.get(call.access_key_id) or self.refused.get("*")):
            return Reply(403, REFUSED.format(*said).encode(), "text/xml")
        return super().reply(request)

    def asked(self) -> list[str]:
        """Return the actions since the last time; a disk that is not there is looked for twice."""
        actions = [action for action, _ in groupby(call.action for call in self.calls)]
        self.requests.clear()
        return actions

    def key(self) -> str:
        """Return the key that signed the last call."""
        return self.calls[-1].access_key_id


class Roles:
    """The executable with a role, and the folder for its credentials.

    Attributes:
        front: What it calls.
        folder: The folder.
    """

    def __init__(self, front: Front, folder: Path) -> None:
        """Create the folder."""
        self.front = front
        self.folder = folder
        self.folder.mkdir(mode=0o700)

    def cpi(self, env: dict[str, str] | None = None, *, command: Any = None, **aws: Any) -> Cpi:
        """Return an executable."""
        document = config(self.front.url, **{"max_retries": 0, "role_arn": ROLE_ARN, **aws})
        document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
        return Cpi(document, env={"BOSH_AWS_CPI_RUN_DIR": str(self.folder), **(env or {})}, command=command)

    def direct(self, fake_aws: FakeAws) -> Cpi:
        """Return an executable with nothing in front of AWS."""
        endpoints: dict[str, Any] = {f"{service}_endpoint": fake_aws.endpoint for service in SERVICES}
        return self.cpi(**endpoints)

    def called(self, cpi: Cpi | None = None, **context: Any) -> list[str]:
        """Have a method called, which must succeed; return the calls of AWS."""
        assert (cpi or self.cpi()).call("has_disk", DISK, context=context).ok() is False
        return self.front.asked()

    @property
    def file(self) -> Path:
        """The only file."""
        (found,) = self.folder.iterdir()
        return found

    def kept(self) -> list[str]:
        """Return what is kept: access key, secret key and token."""
        found = json.loads(self.file.read_text())["Credentials"]
        return [found[name] for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")]


@pytest.fixture
def roles(fake_aws: FakeAws, tmp_path: Path) -> Iterator[Roles]:
    """Return an executable with a role."""
    with Front(fake_aws.endpoint) as front:
        yield Roles(front, tmp_path / "roles")


def printed(answer: Answer) -> str:
    """Return all that a call has written."""
    return answer.stdout.decode() + answer.stderr


def test_assumed_once(roles: Roles) -> None:
    """The first call assumes the role, the next ones use its credentials, which are in a private file."""
    for actions in ([STS, EC2], [EC2], [EC2]):
        assert roles.cpi().call("has_disk", DISK).ok() is False
        last = roles.front.calls[-1]
        assert roles.front.asked() == actions
        assert [last.access_key_id, last.token] == roles.kept()[::2]
    assert roles.file.stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize("case", ["no folder is named", "switched off", "missing"])
def test_not_kept(roles: Roles, tmp_path: Path, case: str) -> None:
    """Without the folder, or if the key says so, each call assumes the role, and warns of nothing."""
    names = {"no folder is named": "", "missing": str(tmp_path / "missing")}
    env = {"BOSH_AWS_CPI_RUN_DIR": names.get(case, str(roles.folder))}
    cpi = roles.cpi(env, keep_role_session=case != "switched off")
    for _ in range(2):
        answer = cpi.call("has_disk", DISK)
        assert answer.ok() is False
        assert " WARNING: " not in answer.stderr
        assert roles.front.asked() == [STS, EC2]
    assert list(roles.folder.iterdir()) == []
    assert not (tmp_path / "missing").exists()


def test_file_that_cannot_be_written(roles: Roles) -> None:
    """If the file can't be written, the call goes on."""
    roles.called()
    path = roles.file
    path.unlink()
    (path / "in the way").mkdir(parents=True)
    assert roles.called() == [STS, EC2]


def test_processes_at_once(roles: Roles, fake_aws: FakeAws) -> None:
    """Processes that run at once each get credentials, and leave one whole file."""
    fake_aws.rule(action=STS, nth=1, hold=True)
    cpi = roles.direct(fake_aws)
    first = cpi.start("has_disk", DISK)
    assert fake_aws.wait_until_held() == [STS]
    assert cpi.call("has_disk", DISK).ok() is False
    fake_aws.release()
    assert finish(first).ok() is False
    assert cpi.call("has_disk", DISK).ok() is False
    assert fake_aws.actions().count(STS) == 2
    assert roles.file.stat().st_nlink == 1


ANOTHER: dict[str, dict[str, Any]] = {
    "role": {"role_arn": f"{ROLE_ARN}2"},
    "external id": {"external_id": "bosh-1"},
    "tags": {"session_tags": {"director": "prod"}},
}


def test_another_session(roles: Roles) -> None:
    """Other arguments of AssumeRole, also of a CPI config, and other Directors lead to other files."""
    assert roles.called() == [STS, EC2]
    for what, changed in ANOTHER.items():
        assert roles.called(roles.cpi(**changed)) == [STS, EC2], what
        assert roles.called(None, **changed) == [EC2], what
    assert roles.called(director_uuid="another") == [STS, EC2]
    assert roles.called() == [EC2]
    assert len(list(roles.folder.iterdir())) == 2 + len(ANOTHER)


@pytest.mark.parametrize(
    ("director", "name"),
    [
        ("my director/\n\xe9=1", "rsn-bosh-aws-cpi"),
        ("x" * 64, f"rsn-{'x' * 60}"),
        ("x" * 65, "rsn-bosh-aws-cpi"),
    ],
)
def test_name_of_the_session(roles: Roles, director: str, name: str) -> None:
    """The session has the Director's name, in characters and a length that STS accepts."""
    roles.cpi().call("has_disk", DISK, context={"director_uuid": director})
    assert roles.front.calls[0].parameters["RoleSessionName"] == name


@pytest.mark.parametrize(
    "said",
    [
        ("UnauthorizedOperation", REVOKED),
        ("AuthFailure", "AWS was not able to validate the provided access credentials"),
        ("RequestExpired", "Request has expired."),
    ],
    ids=lambda said: said[0],
)
def test_revoked(roles: Roles, said: tuple[str, str]) -> None:
    """If AWS refuses kept credentials, the call goes on at once with new ones, which are kept instead."""
    roles.cpi().call("has_disk", DISK)
    revoked = roles.front.key()
    roles.front.refused[revoked] = said
    roles.front.asked()
    answer = roles.cpi().call("has_disk", DISK)
    assert answer.ok() is False
    assert roles.front.key() != revoked
    assert roles.front.asked() == [EC2, STS, EC2]
    assert roles.called() == [EC2]


@pytest.mark.parametrize(
    ("said", "asked", "next_call"),
    [
        (("UnauthorizedOperation", REVOKED), [EC2, STS, EC2], [EC2]),
        (("UnauthorizedOperation", DENIED), [EC2], [STS, EC2]),
        (("AuthFailure", "Not authorized for images: [ami-0123456789abcdef0]"), [EC2], [EC2]),
    ],
    ids=["new ones, too", "missing permission", "another account's AMI"],
)
def test_refused(roles: Roles, said: tuple[str, str], asked: list[str], next_call: list[str]) -> None:
    """A call that AWS refuses with any credentials fails with what AWS said, after two attempts at most.

    Without the permission, the next call assumes the role: perhaps it is not that. EC2 answers AuthFailure
    for another account's AMI, too: kept credentials stay.
    """
    roles.called()
    roles.front.refused["*"] = said
    assert said[1] in roles.cpi().call("has_disk", DISK).error["message"]
    assert roles.front.asked() == asked
    roles.front.refused.clear()
    assert roles.called() == next_call


def test_refused_when_new(roles: Roles) -> None:
    """If AWS refuses credentials that STS has just issued, the call is not retried, and they are kept."""
    roles.front.refused["*"] = ("UnauthorizedOperation", DENIED)
    assert roles.cpi().call("has_disk", DISK).error
    assert roles.front.asked() == [STS, EC2]
    roles.front.refused.clear()
    assert roles.called() == [EC2]


def test_sts_refuses_after_a_revocation(roles: Roles, fake_aws: FakeAws) -> None:
    """If the role can no longer be assumed, the call fails with what STS said, and nothing is kept."""
    roles.called()
    roles.front.refused["*"] = ("UnauthorizedOperation", REVOKED)
    fake_aws.refuse(STS, "AccessDenied", "not you", 403)
    answer = roles.cpi().call("has_disk", DISK)
    assert "not you" in answer.error["message"]
    assert list(roles.folder.iterdir()) == []


def test_secrets(roles: Roles) -> None:
    """No log line and no error shows credentials, also if AWS repeats them."""
    roles.called()
    secrets = roles.kept()
    roles.front.refused["*"] = ("InvalidParameterValue", " ".join(secrets).replace("&", ""))
    answer = roles.cpi().call("has_disk", DISK)
    assert roles.front.asked() == [EC2]
    assert "InvalidParameterValue: <redacted> <redacted> <redacted>" in answer.error["message"]
    assert "DEBUG" in answer.stderr
    assert [secret for secret in secrets if secret in printed(answer)] == []


def test_commands(roles: Roles, fake_aws: FakeAws) -> None:
    """A command assumes the role itself, so that it finds out whether it can, and keeps nothing."""
    cpi = roles.direct(fake_aws)
    for number in (1, 2):
        assert cpi.run("sweep", "--director", DIRECTOR_UUID).returncode == 0
        assert fake_aws.actions().count(STS) == number
    assert list(roles.folder.iterdir()) == []
