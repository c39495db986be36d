"""The versions of TLS that AWS and the registry are called with."""

import socket
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config, finish
from testbed.registry import PASSWORD, USER

pytestmark = pytest.mark.usefixtures("cold")  # OpenSSL reads its settings once per process

VM, DISK = "i-00000000000000001", "vol-00000000000000001"
PERMISSIVE = """
openssl_conf = start
[start]
ssl_conf = ssl
[ssl]
system_default = default
[default]
MinProtocol = TLSv1
CipherString = DEFAULT:@SECLEVEL=0
"""
"""Settings of a machine whose OpenSSL allows old versions."""
SUPPORTED_VERSIONS = 43
"""The extension of a ClientHello that lists the versions (RFC 8446, 4.2.1)."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the variables of a machine whose OpenSSL allows old versions."""
    path = tmp_path / "openssl.cnf"
    path.write_text(PERMISSIVE)
    return {"OPENSSL_CONF": str(path)}


def calling(service: str, address: str, elsewhere: str, env: dict[str, str]) -> tuple[Cpi, list[Any]]:
    """Return the executable and the call that connects to this address first."""
    if service == "AWS":
        return Cpi(config(elsewhere, ec2_endpoint=f"https://{address}", max_retries=0), env=env), [
            "has_disk",
            DISK,
        ]
    section = {"endpoint": f"https://{address}", "user": USER, "password": PASSWORD}
    return Cpi(config(elsewhere, registry=section), env=env), ["detach_disk", VM, DISK]


@pytest.mark.parametrize("service", ["AWS", "registry"])
def test_offered_versions(fake_aws: FakeAws, environment: dict[str, str], service: str) -> None:
    """No version before 1.2 is offered, whatever Python and OpenSSL allow."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        cpi, call = calling(service, address, fake_aws.endpoint, environment)
        process = cpi.start(*call, stemcell=1)
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as stream:
            hello = stream.read(int.from_bytes(stream.read(5)[3:], "big"))
        answer = finish(process)
    versions = offered(hello)
    assert versions
    assert versions <= {0x0303, 0x0304}
    refused(answer)


def refused(answer: Answer) -> None:
    """Check for the typed error of a connection that was not made."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    assert "SSL" in answer.error["message"]


def offered(hello: bytes) -> set[int]:
    """The versions that a ClientHello lists (RFC 8446, 4.1.2)."""
    at = 4 + 2 + 32
    for size in (1, 2, 1):  # session id, ciphers, compression
        at += size + int.from_bytes(hello[at : at + size], "big")
    at += 2
    while at < len(hello):
        kind, length = (int.from_bytes(hello[at + begin : at + begin + 2], "big") for begin in (0, 2))
        if kind == SUPPORTED_VERSIONS:
            listed = hello[at + 5 : at + 4 + length]
            return {int.from_bytes(listed[place : place + 2], "big") for place in range(0, len(listed), 2)}
        at += 4 + length
    return set()
