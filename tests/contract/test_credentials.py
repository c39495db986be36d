"""Whose keys sign the calls of AWS: static ones, the environment's, the instance's, or a role's."""

import json
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk.translation import KEYS_REMEDY
from testbed import imds, shifted
from testbed.cloud import FakeAws
from testbed.executable import ABSENT, ACCESS_KEY_ID, Answer, Cpi, config
from testbed.imds import Imds
from testbed.loopback import LoopbackServer, Reply, Request
from testbed.proxy import AwsCall, Relay
from testbed.tls import Authority, TlsRelay

pytestmark = pytest.mark.usefixtures("warm")

DISK = "vol-00000000000000001"
ROLE_ARN = "arn:aws:iam::123456789012:role/cpi"
WEB_TOKEN = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJib3NoIn0.c2lnbmF0dXJl"
TOKEN_PATH = "/latest/api/token"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
    "AWS_SECRET_ACCESS_KEY": "environment-secret",
    "AWS_SESSION_TOKEN": "environment-token",
}
PROFILE = """
aws_access_key_id = AKIAPOISON
aws_secret_access_key = poison-secret
aws_session_token = poison-token
region = eu-central-1
endpoint_url = http://127.0.0.1:1/poison
services = poison
"""
SERVICES = "[services poison]\nec2 =\n  endpoint_url = http://127.0.0.1:1/poison\n"
POISON = f"[default]{PROFILE}[profile poison]{PROFILE}[poison]{PROFILE}{SERVICES}"
BOTO = "[Credentials]\naws_access_key_id = AKIAPOISON\naws_secret_access_key = poison-secret\n"
EC2_TOOLS = "AWSAccessKeyId=AKIAPOISON\nAWSSecretKey=poison-secret\n"


@pytest.fixture
def relay(fake_aws: FakeAws) -> Iterator[Relay]:
    """Stand in front of AWS, and see who signs."""
    with Relay(fake_aws.endpoint) as server:
        yield server


def cpi_of(relay: Relay, env: dict[str, str] | None = None, **aws: Any) -> Cpi:
    """Return the executable, with a HOME full of configuration that is none of its business."""
    cpi = Cpi(config(relay.url, max_retries=0, **aws), env=env)
    folder = cpi.folder / ".aws"
    folder.mkdir()
    (folder / "config").write_text(POISON)
    (folder / "credentials").write_text(POISON)
    return cpi


def from_source(relay: Relay, env: dict[str, str], **aws: Any) -> Cpi:
    """Return the executable with credentials_source env_or_profile."""
    keys = {"access_key_id": ABSENT, "secret_access_key": ABSENT}
    return cpi_of(relay, env, credentials_source="env_or_profile", **keys, **aws)


def signed(relay: Relay) -> list[tuple[str, str, str | None]]:
    """Return action, key and token of each call; a disk that is not there is looked for twice."""
    return list(dict.fromkeys((call.action, call.access_key_id, call.token) for call in relay.calls))


def failed(answer: Answer, *words: str) -> None:
    """Check for a typed error in these words, without a secret."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    for word in words:
        assert word in answer.error["message"]
    assert "-secret" not in answer.stdout.decode() + answer.stderr


@pytest.mark.parametrize("token", [ABSENT, "static-token"])
def test_static(relay: Relay, token: Any) -> None:
    """Static keys sign, with their session token if there is one, whatever the environment holds."""
    cpi = cpi_of(relay, {**ENVIRONMENT, "AWS_PROFILE": "poison"}, session_token=token)
    assert cpi.call("has_disk", DISK).ok() is False
    assert signed(relay) == [("DescribeVolumes", ACCESS_KEY_ID, None if token is ABSENT else token)]
    assert relay.calls[0].region == "us-east-1"


def test_environment(relay: Relay) -> None:
    """env_or_profile takes the environment's keys; profiles and files in HOME are not read."""
    files = {"AWS_PROFILE": "poison", "AWS_DEFAULT_PROFILE": "poison"}
    cpi = from_source(relay, {**ENVIRONMENT, **files})
    assert cpi.call("has_disk", DISK).ok() is False
    assert signed(relay) == [("DescribeVolumes", "AKIAENVIRONMENT", "environment-token")]


def test_instance_profile(relay: Relay) -> None:
    """Without the environment's keys the instance profile's are taken, by IMDSv2, and no file's."""
    with Imds() as server:
        cpi = from_source(relay, {**server.environment, "AWS_PROFILE": "poison"})
        assert cpi.call("has_disk", DISK).ok() is False
        asked = [(request.method, request.path) for request in server.requests]
        tokens = [request.headers.get("x-aws-ec2-metadata-token") for request in server.requests[1:]]
    assert signed(relay) == [("DescribeVolumes", imds.ACCESS_KEY_ID, imds.SESSION_TOKEN)]
    role = imds.CREDENTIALS + imds.ROLE
    assert asked == [("PUT", TOKEN_PATH), ("GET", imds.CREDENTIALS), ("GET", role)]
    assert tokens == [imds.TOKEN, imds.TOKEN]


class Tokenless(Imds):
    """Metadata of version 1 alone: knows no tokens, and answers without."""

    def reply(self, request: Request) -> Reply:
        """Answer without asking for a token."""
        document = self.documents.get(request.path)
        return Reply(404) if document is None else Reply(200, document.encode(), "text/plain")


def test_no_version_1(relay: Relay) -> None:
    """Where there is no token there are no credentials: version 1 is not asked."""
    with Tokenless() as server:
        failed(from_source(relay, server.environment).call("has_disk", DISK))
        assert {(request.method, request.path) for request in server.requests} == {("PUT", TOKEN_PATH)}
    assert relay.requests == []


class Flaky(Imds):
    """Fails some times at each path before it answers."""

    def __init__(self, failures: int) -> None:
        """Fail that many times at each path."""
        super().__init__()
        self.failures = failures
        self.asked: dict[str, int] = {}

    def reply(self, request: Request) -> Reply:
        """Fail, or answer."""
        self.asked[request.path] = self.asked.get(request.path, 0) + 1
        return Reply(500) if self.asked[request.path] <= self.failures else super().reply(request)


def test_metadata_is_asked_ten_times(relay: Relay) -> None:
    """Instance metadata is asked ten times before it counts as not there."""
    with Flaky(9) as server:
        assert from_source(relay, server.environment).call("has_disk", DISK).ok() is False
        assert set(server.asked.values()) == {10}
    assert {call.access_key_id for call in relay.calls} == {imds.ACCESS_KEY_ID}
    with Flaky(10) as server:
        failed(from_source(relay, server.environment).call("has_disk", DISK))
        assert server.asked == {TOKEN_PATH: 10}


@pytest.mark.parametrize(
    "env",
    [
        {"AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT"},
        {"AWS_SHARED_CREDENTIALS_FILE": "poison", "AWS_CONFIG_FILE": "poison", "AWS_PROFILE": "poison"},
    ],
)
def test_no_credentials(relay: Relay, env: dict[str, str], tmp_path: Path) -> None:
    """Where there are no keys, or half of them, the call fails and says so; no file stands in."""
    poison = tmp_path / "poison"
    poison.write_text(POISON)
    env = {name: str(poison) if name.endswith("_FILE") else value for name, value in env.items()}
    answer = from_source(relay, env).call("has_disk", DISK)
    failed(answer, "No AWS credentials found", "env_or_profile", KEYS_REMEDY)
    assert relay.requests == []


@pytest.mark.usefixtures("cold")  # where it begins, it says which files there are
def test_no_other_files(relay: Relay, tmp_path: Path) -> None:
    """Other files of AWS's SDKs in HOME are not read either, nor the one that AWS_CREDENTIAL_FILE names."""
    (tmp_path / "keys").write_text(EC2_TOOLS)
    cpi = from_source(relay, {"AWS_CREDENTIAL_FILE": str(tmp_path / "keys")})
    for path, content in ((".boto", BOTO), (".aws/models/endpoints.json", "poison")):
        file = cpi.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    failed(cpi.call("has_disk", DISK), "No AWS credentials found")
    assert relay.requests == []


def web_identity(folder: Path, name: str = "token") -> dict[str, str]:
    """Return the environment of a process that has a role by a token, as in a pod of EKS."""
    (folder / "token").write_text(WEB_TOKEN)
    return {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / name),
        "AWS_ROLE_ARN": ROLE_ARN,
        "AWS_ROLE_SESSION_NAME": "worker",
    }


def test_web_identity(relay: Relay, fake_aws: FakeAws, tmp_path: Path) -> None:
    """The environment's token is exchanged for a role's keys at sts_endpoint; an error does not show it."""
    cpi = from_source(relay, web_identity(tmp_path))
    assert cpi.call("has_disk", DISK).ok() is False
    sts, ec2, _ = relay.calls
    assert (sts.action, sts.access_key_id) == ("AssumeRoleWithWebIdentity", "")
    wanted = {"RoleArn": ROLE_ARN, "RoleSessionName": "worker", "WebIdentityToken": WEB_TOKEN}
    assert wanted.items() <= sts.parameters.items()
    assert (ec2.action, ec2.access_key_id[:4]) == ("DescribeVolumes", "ASIA")
    fake_aws.refuse("AssumeRoleWithWebIdentity", "InvalidIdentityToken", f"Not {WEB_TOKEN}")
    answer = cpi.call("has_disk", DISK)
    failed(answer, "InvalidIdentityToken")
    assert WEB_TOKEN not in answer.stdout.decode() + answer.stderr


def test_web_identity_by_tls(fake_aws: FakeAws, tmp_path: Path) -> None:
    """The certificate authority that AWS is called with holds for the exchange, too."""
    authority = Authority(tmp_path, "one")
    with TlsRelay(fake_aws.endpoint, authority) as front:
        env = {"BOSH_CA_CERT_FILE": str(authority.path), **web_identity(tmp_path)}
        aws: dict[str, Any] = {"ec2_endpoint": front.address, "sts_endpoint": front.address}
        aws |= {"access_key_id": ABSENT, "secret_access_key": ABSENT, "credentials_source": "env_or_profile"}
        answer = Cpi(config(fake_aws.endpoint, **aws), env=env).call("has_disk", DISK)
        actions = [call.action for call in front.calls]
    assert answer.ok() is False
    assert actions == ["AssumeRoleWithWebIdentity", *["DescribeVolumes"] * 2]


def test_web_identity_without_a_role(relay: Relay, tmp_path: Path) -> None:
    """A name in place of the role's ARN is an error that names the variable."""
    answer = from_source(relay, {**web_identity(tmp_path), "AWS_ROLE_ARN": "bosh"}).call("has_disk", DISK)
    assert answer.error["type"] == "InvalidCall"
    assert "configuration parameter AWS_ROLE_ARN " in answer.error["message"]
    assert relay.requests == []


class Container(LoopbackServer):
    """Gives a container its keys, as the agent of ECS and of EKS does."""

    def __init__(self, body: bytes = b"") -> None:
        """Answer with other bytes."""
        super().__init__()
        self._body = body

    def reply(self, request: Request) -> Reply:  # noqa: ARG002 - the answer is always the same
        """Answer."""
        return Reply(200, self._body or json.dumps(imds.credentials()).encode(), "application/json")


def test_container(relay: Relay) -> None:
    """A container's keys come before the instance profile's."""
    with Container() as server, Imds() as metadata:
        uri = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys"}
        cpi = from_source(relay, {**metadata.environment, **uri})
        assert cpi.call("has_disk", DISK).ok() is False
        assert [request.path for request in server.requests] == ["/keys"]
        assert metadata.requests == []
    assert signed(relay) == [("DescribeVolumes", imds.ACCESS_KEY_ID, imds.SESSION_TOKEN)]


NO_FILES = {
    "missing": "no/file",
    "folder": ".",
    "pipe": "pipe",
    "long": "x" * 300,
    "device": "/dev/zero",
    "kernel's": "/proc/self/environ",
    "large": "large",
}
"""Paths at which nothing can be read, or without an end, from a folder with a pipe and a large file."""
AUTHORITIES = ("BOSH_CA_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE")


@pytest.mark.parametrize(
    ("variable", "kind"),
    [
        *(("AWS_WEB_IDENTITY_TOKEN_FILE", kind) for kind in NO_FILES),
        *(("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", kind) for kind in NO_FILES),
        *(
            (variable, kind)
            for variable in AUTHORITIES
            for kind in ("missing", "pipe", "long", "device", "large")
        ),
    ],
)
def test_no_file(relay: Relay, tmp_path: Path, variable: str, kind: str) -> None:
    """A variable that does not name a file is an error that names it, and nothing is waited for."""
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(3 << 30)
    with Container() as server:
        env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys", "AWS_ROLE_ARN": ROLE_ARN}
        path = str(tmp_path / NO_FILES[kind])
        failed(from_source(relay, {**env, variable: path}).call("has_disk", DISK), variable, path)
    assert relay.requests == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AWS_METADATA_SERVICE_TIMEOUT", "one"),
        ("AWS_METADATA_SERVICE_TIMEOUT", "-1"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://["),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.test"),
    ],
)
def test_wrong_variable(relay: Relay, variable: str, value: str) -> None:
    """A variable with a wrong value is an error that names it."""
    with Imds() as server:
        env = {**server.environment, variable: value}
        failed(from_source(relay, env).call("has_disk", DISK), variable)
    assert relay.requests == []


@pytest.mark.parametrize("path", [TOKEN_PATH, imds.CREDENTIALS + imds.ROLE])
def test_metadata_of_another_form(relay: Relay, path: str) -> None:
    """Metadata that is no token or no credentials is a typed error that does not quote it."""
    with Imds() as server:
        keys = {**imds.credentials(), "AccessKeyId": ["x-secret"], "Expiration": 7}
        server.documents[path] = json.dumps(keys)
        server.token = "x-secret\nx" if path == TOKEN_PATH else imds.TOKEN
        answer = from_source(relay, server.environment).call("has_disk", DISK)
    failed(answer, "AWS credentials can't be read", "instance metadata is not valid")
    assert relay.requests == []


@pytest.mark.parametrize("body", [b"\xff", b"{}", b"[" * 30_000 + b"]" * 30_000])
def test_container_of_another_form(relay: Relay, body: bytes) -> None:
    """Invalid credentials of a container are a typed error."""
    with Container(body) as server:
        uri = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys"}
        answer = from_source(relay, uri).call("has_disk", DISK)
    failed(answer, "AWS credentials can't be read", "the container's credentials")


@pytest.mark.parametrize("name", ["AccessKeyId", "SecretAccessKey", "Token", "AccountId"])
def test_credentials_that_are_no_text(relay: Relay, name: str) -> None:
    """Credentials of which a part is a number are a typed error."""
    with Container(json.dumps({**imds.credentials(), name: 7}).encode()) as server:
        uri = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys"}
        failed(from_source(relay, uri).call("has_disk", DISK), "container-role", "is not text")
    assert relay.requests == []


def test_unprintable_keys_of_the_environment(relay: Relay) -> None:
    """Keys of the environment that no request can carry are an error that does not quote them."""
    env = {**ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": "environment-secret\n"}
    answer = from_source(relay, env).call("has_disk", DISK)
    failed(answer, "AWS credentials can't be used: a key or token of env ", "has a space, a line break or")
    assert relay.requests == []


CLOCK = "Set the clock of the machine that runs the CPI, or renew the keys"


@pytest.mark.parametrize(
    ("expiration", "words"),
    [
        ("2001-02-03T04:05:06Z", ("AWS credentials had expired when they arrived", CLOCK)),
        ("2101-02-03T04:05:06", ("AWS credentials have an Expiration without a time zone",)),
    ],
)
def test_time_of_expiry(relay: Relay, expiration: str, words: tuple[str, ...]) -> None:
    """Keys that have expired when they arrive are blamed on the clock; a time without a zone is named."""
    with Container(json.dumps({**imds.credentials(), "Expiration": expiration}).encode()) as server:
        env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys"}
        answer = from_source(relay, env).call("has_disk", DISK)
    failed(answer, *words)
    assert relay.requests == []


def test_clock_ahead(relay: Relay, tmp_path: Path) -> None:
    """A role's new credentials have expired already where the clock is two hours ahead: it is named."""
    (tmp_path / "ahead").write_text("7200")
    command = [*shifted.COMMAND, str(tmp_path / "ahead")]
    answer = Cpi(config(relay.url, role_arn=ROLE_ARN), command=command).call("has_disk", DISK)
    failed(answer, "AWS credentials had expired when they arrived", CLOCK)
    assert {call.action for call in relay.calls} == {"AssumeRole"}


def assumed(calls: list[AwsCall], key: str, token: str | None) -> None:
    """Check that a role was assumed with one key, and that its own key made the other call."""
    sts, ec2, _ = calls
    assert (sts.action, sts.access_key_id, sts.token, sts.region) == ("AssumeRole", key, token, "us-east-1")
    assert sts.parameters["RoleArn"] == ROLE_ARN
    found = re.fullmatch(r"rsn-(.+)", sts.parameters["RoleSessionName"])
    assert found is not None
    assert str(uuid.UUID(found[1])) == found[1]
    assert ec2.action == "DescribeVolumes"
    assert ec2.access_key_id.startswith("ASIA")
    assert ec2.access_key_id != key
    assert ec2.token


def test_role_over_static(relay: Relay) -> None:
    """Static keys assume the role at sts_endpoint, and the role's keys sign the rest."""
    cpi = cpi_of(relay, ENVIRONMENT, role_arn=ROLE_ARN, session_token="static-token")
    assert cpi.call("has_disk", DISK).ok() is False
    assumed(relay.calls, ACCESS_KEY_ID, "static-token")


def test_role_over_instance_profile(relay: Relay) -> None:
    """The instance profile's keys assume the role, one that the context names too."""
    with Imds() as server:
        cpi = from_source(relay, server.environment)
        assert cpi.call("has_disk", DISK, context={"role_arn": ROLE_ARN}).ok() is False
    assumed(relay.calls, imds.ACCESS_KEY_ID, imds.SESSION_TOKEN)


def test_session_of_role(relay: Relay) -> None:
    """The role is assumed with the external id and the tags of the configuration, or of a CPI config."""
    own: dict[str, Any] = {"external_id": "bosh-1", "session_tags": {"director": "prod", "cost-center": 4711}}
    for aws, context in ((own, {}), ({}, own)):
        relay.requests.clear()
        cpi = cpi_of(relay, ENVIRONMENT, role_arn=ROLE_ARN, **aws)
        assert cpi.call("has_disk", DISK, context=context).ok() is False
        assumed(relay.calls, ACCESS_KEY_ID, None)
        sent = {key: value for key, value in relay.calls[0].parameters.items() if key[:4] in {"Exte", "Tags"}}
        assert sent == {
            "ExternalId": "bosh-1",
            "Tags.member.1.Key": "director",
            "Tags.member.1.Value": "prod",
            "Tags.member.2.Key": "cost-center",
            "Tags.member.2.Value": "4711",
        }


def test_role_refused(relay: Relay, fake_aws: FakeAws) -> None:
    """A role that may not be assumed fails the call with what STS said; EC2 is not asked."""
    fake_aws.refuse("AssumeRole", "AccessDenied", "not you", 403)
    failed(cpi_of(relay, role_arn=ROLE_ARN).call("has_disk", DISK), "AccessDenied", "not you")
    assert [call.action for call in relay.calls] == ["AssumeRole"]
