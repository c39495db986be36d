"""Where the calls of AWS go: endpoints, regions, proxies and certificates; and how often."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

import pytest

from bosh_aws_cpi.aws.sdk.clients import bypass_proxies_for_metadata
from testbed import imds
from testbed.cloud import FakeAws
from testbed.executable import ABSENT, Answer, Cpi, config
from testbed.imds import Imds
from testbed.loopback import LoopbackServer, Reply, Request
from testbed.proxy import Proxy
from testbed.registry import PASSWORD, USER, Registry
from testbed.tls import Authority, TlsRelay

pytestmark = pytest.mark.usefixtures("warm")

DISK = "vol-00000000000000001"
NOWHERE = "http://127.0.0.1:1"
BY_REGION: dict[str, Any] = {
    "ec2_endpoint": ABSENT,
    "elb_endpoint": ABSENT,
    "sts_endpoint": ABSENT,
    "ebs_endpoint": ABSENT,
}
ROLE: dict[str, Any] = {"role_arn": "arn:aws:iam::123456789012:role/cpi"}


@pytest.fixture
def proxy(fake_aws: FakeAws) -> Iterator[Proxy]:
    """Serve as an HTTP proxy behind which every host is the stand-in for AWS."""
    with Proxy(fake_aws.endpoint) as server:
        yield server


def failed(answer: Answer, *words: str) -> None:
    """Check for a typed error in these words."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    for word in words:
        assert word in answer.error["message"]


@pytest.mark.parametrize("case", ["trusted", "other authority", "no such file"])
def test_https_without_scheme(fake_aws: FakeAws, tmp_path: Path, case: str) -> None:
    """An endpoint without a scheme is asked by HTTPS, and only when BOSH_CA_CERT_FILE vouches for it."""
    authority, other = Authority(tmp_path, "one"), Authority(tmp_path, "other")
    file = {
        "trusted": authority.path,
        "other authority": other.path,
        "no such file": tmp_path / "missing.pem",
    }[case]
    with TlsRelay(fake_aws.endpoint, authority) as front:
        env = {"BOSH_CA_CERT_FILE": str(file)}
        document = config(NOWHERE, ec2_endpoint=front.address, sts_endpoint=front.address, **ROLE)
        answer = Cpi(document, env=env).call("has_disk", DISK)
        actions = [call.action for call in front.calls]
    if case == "trusted":
        assert answer.ok() is False
        assert actions == ["AssumeRole", *["DescribeVolumes"] * 2]
        return
    assert actions == []
    if case == "other authority":
        assert front.handshakes == 1, "it is tried once, whatever max_retries says"
        failed(answer, "CERTIFICATE_VERIFY_FAILED", f"called with BOSH_CA_CERT_FILE '{file}': ")
    else:
        failed(answer, f"BOSH_CA_CERT_FILE in the environment names '{file}', which is not a file")


def test_certificates_of_cpi_config(fake_aws: FakeAws, tmp_path: Path) -> None:
    """A CPI config's own certificates replace those of the job, for STS too, without a file of them.

    A bundle may have comments in any language.
    """
    authority, other = Authority(tmp_path, "one"), Authority(tmp_path, "other")
    home = tmp_path / "home"
    home.mkdir()
    env = {"BOSH_CA_CERT_FILE": str(other.path), "HOME": str(home), "TMPDIR": str(home)}
    bundle = f"# Zertifikate für …\n{authority.path.read_text()}"
    context = {"connection_options": {"ca_cert": bundle}}
    with TlsRelay(fake_aws.endpoint, authority) as front:
        document = config(
            NOWHERE, ec2_endpoint=front.address, sts_endpoint=front.address, max_retries=0, **ROLE
        )
        assert Cpi(document, env=env).call("has_disk", DISK, context=context).ok() is False
        failed(Cpi(document, env=env).call("has_disk", DISK), "SSL validation failed")
    assert [*home.iterdir()] == []


def test_no_key_log(fake_aws: FakeAws, tmp_path: Path) -> None:
    """The keys of TLS connections are written nowhere, whatever the environment says."""
    authority, log = Authority(tmp_path, "one"), tmp_path / "log"
    env = {"BOSH_CA_CERT_FILE": str(authority.path), "SSLKEYLOGFILE": str(log)}
    with TlsRelay(fake_aws.endpoint, authority) as front:
        answer = Cpi(config(NOWHERE, ec2_endpoint=front.address), env=env).call("has_disk", DISK)
    assert answer.ok() is False
    assert not log.exists()
    assert "SSLKEYLOGFILE is ignored" in answer.stderr


def test_no_certificates(fake_aws: FakeAws) -> None:
    """Text without a certificate is refused by the key's name, before any AWS call."""
    text = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"
    answer = Cpi(config(fake_aws.endpoint, connection_options={"ca_cert": text})).call("has_disk", DISK)
    failed(answer, "aws.connection_options.ca_cert holds no CA certificates in PEM format")
    assert fake_aws.actions() == []


def test_untrusted_by_cpi_config(fake_aws: FakeAws, tmp_path: Path) -> None:
    """The error names the CPI config's own certificates if they don't vouch for the server, for STS too."""
    job, own = Authority(tmp_path, "job"), Authority(tmp_path, "own")
    env = {"BOSH_CA_CERT_FILE": str(job.path)}
    options = {"connection_options": {"ca_cert": own.path.read_text()}}
    with TlsRelay(fake_aws.endpoint, job) as front:
        for more in ({}, {**ROLE, "sts_endpoint": front.address}):
            document = config(NOWHERE, ec2_endpoint=front.address, **options, **more)
            answer = Cpi(document, env=env).call("has_disk", DISK)
            failed(answer, "called with the CA certificates of aws.connection_options.ca_cert: ")


def test_region_from_host_name(proxy: Proxy) -> None:
    """With both endpoints and no region the host's name says the region to sign for, AWS_REGION first."""
    host = "ec2.eu-west-3.example.test"
    document = config(NOWHERE, region=ABSENT, ec2_endpoint=f"http://{host}", elb_endpoint="elb.example.test")
    environment = {"HTTP_PROXY": proxy.url, "AWS_DEFAULT_REGION": "sa-east-1"}
    regions = []
    for more in ({}, {"AWS_REGION": "ap-south-2"}):
        proxy.requests.clear()
        assert Cpi(document, env={**environment, **more}).call("has_disk", DISK).ok() is False
        request, _ = proxy.requests
        regions.append(request.headers["authorization"].split("/")[2])
        assert set(proxy.hosts) == {host}
    assert regions == ["eu-west-3", "ap-south-2"]


@pytest.mark.parametrize(
    ("variable", "aws", "tunnel"),
    [
        ("HTTPS_PROXY", {}, "ec2.eu-central-1.amazonaws.com:443"),
        ("https_proxy", {"dualstack": True}, "ec2.eu-central-1.api.aws:443"),
        ("HTTPS_PROXY", {"fips": True, "region": "us-west-2"}, "ec2-fips.us-west-2.amazonaws.com:443"),
        ("https_proxy", ROLE, "sts.eu-central-1.amazonaws.com:443"),
        ("HTTPS_PROXY", {"ec2_endpoint": "vpce-1.ec2.example.test:8443"}, "vpce-1.ec2.example.test:8443"),
    ],
)
def test_host(proxy: Proxy, variable: str, aws: dict[str, Any], tunnel: str) -> None:
    """Without endpoints the region says which host is asked, dual-stack ones too; through the proxy."""
    document = config(NOWHERE, max_retries=0, **{**BY_REGION, "region": "eu-central-1", **aws})
    password = "proxy-secret-41aa"
    url = proxy.url.replace("://", f"://operator:{password}@")
    answer = Cpi(document, env={variable: url}).call("has_disk", DISK)
    failed(answer, "Failed to connect to proxy")
    assert proxy.tunnels == [tunnel]
    assert len(proxy.requests) == 1
    assert password not in answer.stdout.decode() + answer.stderr


def test_endpoint_of_the_environment(fake_aws: FakeAws) -> None:
    """The SDK's own variables say the endpoints that the configuration leaves out, dualstack or not."""
    env = {"AWS_ENDPOINT_URL_EC2": fake_aws.endpoint, "AWS_ENDPOINT_URL": NOWHERE}
    env |= {"AWS_ENDPOINT_URL_STS": fake_aws.endpoint}
    document = config(NOWHERE, dualstack=True, max_retries=0, **{**BY_REGION, **ROLE})
    assert Cpi(document, env=env).call("has_disk", DISK).ok() is False
    assert fake_aws.actions() == ["AssumeRole", *["DescribeVolumes"] * 2]


def test_no_endpoint_of_the_environment() -> None:
    """A variable that names no host is an error that names the variables."""
    env = {"AWS_ENDPOINT_URL_EC2": "http://my_host"}
    answer = Cpi(config(NOWHERE, **BY_REGION), env=env).call("has_disk", DISK)
    failed(answer, "Invalid endpoint: http://my_host", "AWS_ENDPOINT_URL")


def test_configured_endpoint_wins(fake_aws: FakeAws) -> None:
    """An endpoint of the configuration is asked as it is, whatever else the configuration says."""
    env = {"AWS_ENDPOINT_URL_EC2": NOWHERE, "AWS_ENDPOINT_URL": NOWHERE}
    document = config(fake_aws.endpoint, dualstack=True, fips=True, max_retries=0)
    assert Cpi(document, env=env).call("has_disk", DISK).ok() is False
    assert fake_aws.actions() == ["DescribeVolumes"] * 2


def test_http_proxy(fake_aws: FakeAws, proxy: Proxy) -> None:
    """AWS and registry are asked through HTTP_PROXY, unless NO_PROXY excepts their hosts."""
    with Registry() as registry:
        section = {"endpoint": registry.url, "user": USER, "password": PASSWORD}
        document = config(fake_aws.endpoint, registry=section)
        env = {"HTTP_PROXY": proxy.url}
        failed_vm = Cpi(document, env=env).call("delete_vm", "i-00000000000000001")
        assert failed_vm.error["type"] == "Bosh::Clouds::VMNotFound"
        hosts = [*[urlsplit(fake_aws.endpoint).netloc] * 3, urlsplit(registry.url).netloc]
        assert proxy.hosts == hosts
        assert len(registry.requests) == 1
        env |= {"NO_PROXY": "example.test, 127.0.0.1"}
        Cpi(document, env=env).call("delete_vm", "i-00000000000000001")
        assert len(registry.requests) == 2
    assert proxy.hosts == hosts


def test_metadata_never_through_a_proxy(fake_aws: FakeAws, proxy: Proxy) -> None:
    """Instance metadata is asked directly while AWS is asked through the proxy."""
    keys: dict[str, Any] = {"access_key_id": ABSENT, "secret_access_key": ABSENT}
    keys["credentials_source"] = "env_or_profile"
    endpoint = fake_aws.endpoint.replace("127.0.0.1", "localhost")
    with Imds("i-00000000000000007") as server:
        env = {**server.environment, "HTTP_PROXY": proxy.url, "http_proxy": proxy.url}
        cpi = Cpi(config(endpoint, **keys), env=env)
        assert cpi.call("has_disk", DISK).ok() is False
        assert len(server.requests) == 3
        assert set(proxy.hosts) == {urlsplit(endpoint).netloc}
        assert imds.ACCESS_KEY_ID in proxy.requests[0].headers["authorization"]
        assert cpi.call("current_vm_id").ok() == "i-00000000000000007"
        assert len(server.requests) == 5
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
def test_metadata_addresses(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """The link-local addresses of instance metadata join what is excepted from the proxy already."""
    monkeypatch.setattr(os, "environ", {"http_proxy": NOWHERE, variable: "example.test"})
    bypass_proxies_for_metadata()
    for host in ("169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "example.test"):
        assert proxy_bypass(host)
    assert not proxy_bypass("169.254.169.25")


@pytest.mark.parametrize(
    ("max_retries", "code", "status"),
    [
        (2, "ServiceUnavailable", 503),
        (0, "RequestLimitExceeded", 503),
        (2, "UnauthorizedOperation", 403),
    ],
)
def test_max_retries(fake_aws: FakeAws, max_retries: int, code: str, status: int) -> None:
    """max_retries says how often service and throttling errors are retried; others are not at all."""
    fake_aws.refuse("DescribeVolumes", code, "once more", status)
    answer = Cpi(config(fake_aws.endpoint, max_retries=max_retries)).call("has_disk", DISK)
    failed(answer, "DescribeVolumes", code, "once more")
    attempts = 1 if status == 403 else max_retries + 1
    assert fake_aws.actions() == ["DescribeVolumes"] * attempts
    retries = {0: "0 retries", 1: "1 retry", 2: "2 retries"}[attempts - 1]
    throttled = attempts if code == "RequestLimitExceeded" else 0
    assert f"1 AWS call, {retries}, {throttled} throttled (ec2.DescribeVolumes)\n" in answer.stderr


def test_nobody_answers() -> None:
    """An endpoint without a server is a typed error that names it, and the property to check."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
        answer = Cpi(config(endpoint, max_retries=0)).call("has_disk", DISK)
    failed(answer, "AWS could not be called", endpoint)
    assert answer.error["message"].endswith(
        f"(ec2:DescribeVolumes for {DISK}). The connection is refused: "
        "check aws.ec2_endpoint, or create a VPC endpoint for it"
    )


@pytest.mark.parametrize(
    ("proxy", "said", "is_retriable"),
    [
        ("http://20222:hunter22@127.0.0.1:1", ". The proxy does not answer, or refuses (", True),
        (
            "http://127.0.0.1:20222/hunter22@127.0.0.1:1",
            "https_proxy in the environment (env.https_proxy of the job) is not a proxy's URL.",
            False,
        ),
    ],
    ids=["dead", "not encoded"],
)
def test_password_of_a_proxy(proxy: str, said: str, *, is_retriable: bool) -> None:
    """The error for a proxy is without its password; one that can't be told from the host is refused."""
    document = config("https://127.0.0.2:1", max_retries=0)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    answer = Cpi(document, env={"HTTPS_PROXY": proxy, "NO_PROXY": ""}).call("has_disk", DISK)
    failed(answer, said, "env.https_proxy")
    assert answer.error["ok_to_retry"] is is_retriable
    assert " DEBUG: " in answer.stderr
    shown = answer.stdout.decode() + answer.stderr
    assert [word for word in ("hunter22", "20222") if word in shown] == []


class Redirecting(LoopbackServer):
    """Answers every request with a Location that is not valid."""

    def reply(self, _: Request) -> Reply:
        """Answer so."""
        return Reply(302, pieces=iter([b"HTTP/1.1 302 Found\r\nLocation: http://[hunter22\r\n\r\n"]))


def test_redirect_that_is_not_valid() -> None:
    """Nothing of an answer is quoted that the SDK trips over."""
    with Redirecting() as server:
        answer = Cpi(config(server.url, max_retries=0)).call("has_disk", DISK)
    failed(answer, "AWS could not be called: its answer can't be read", "env.https_proxy")
    assert "hunter22" not in answer.stdout.decode() + answer.stderr
