"""What `cpi diagnose` reads of an agent's settings: addresses, and never a password."""

import json
from typing import Any

import pytest

from bosh_aws_cpi.tools.diagnosis import agent_settings
from bosh_aws_cpi.tools.diagnosis.agent_settings import Address

NATS = Address("nats", "10.0.2.6", 4222)
FULL = {"agent_id": "a", "networks": {"a": {}}, "mbus": "nats://nats:secret@10.0.2.6:4222"}


def read(document: Any) -> agent_settings.AgentSettings:
    """Read a document."""
    return agent_settings.read(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("nats://nats:secret@10.0.2.6:4222", NATS),
        ("nats://10.0.2.6", NATS),
        ("nats://u:p@[2001:db8::6]:4222", Address("nats", "2001:db8::6", 4222)),
        ("https://mbus:secret@0.0.0.0:6868", Address("https", "0.0.0.0", 6868)),  # noqa: S104 - create-env's
        ("https://blobs.example", Address("https", "blobs.example", 443)),
        ("10.0.2.6:25777", Address("http", "10.0.2.6", 25777)),
        ("nats://10.0.2.6:port", None),
        ("http://[", None),
        (None, None),
        (["nats://10.0.2.6"], None),
    ],
)
def test_address(url: object, expected: Address | None) -> None:
    """An address has a host and a port, without user and password."""
    assert agent_settings.address(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://mbus:p@0.0.0.0:6868", True),
        ("nats://n:p@10.0.2.6:4222", False),
    ],
)
def test_is_of_agent(url: str, *, expected: bool) -> None:
    """The agent serves a message bus with https itself; it connects to one with nats."""
    address = agent_settings.address(url)
    assert address is not None
    assert address.is_of_agent is expected


def test_text() -> None:
    """An address is written as a URL, IPv6 in brackets."""
    assert str(NATS) == "nats://10.0.2.6:4222"
    assert str(Address("nats", "2001:db8::6", 4222)) == "nats://[2001:db8::6]:4222"


@pytest.mark.parametrize(
    ("env", "mbus", "blobstore", "ntp"),
    [
        ({}, NATS, Address("https", "10.0.2.6", 25250), ("10.0.2.7",)),
        (
            {
                "mbus": {"urls": ["nats://10.0.2.8:4222"]},
                "blobstores": [{"provider": "dav", "options": {"endpoint": "https://10.0.2.9:25250"}}],
                "ntp": ["10.0.2.10"],
            },
            Address("nats", "10.0.2.8", 4222),
            Address("https", "10.0.2.9", 25250),
            ("10.0.2.10",),
        ),
        (
            {"mbus": {"cert": {}}, "blobstores": [{"provider": "local"}], "ntp": []},
            NATS,
            None,
            ("10.0.2.7",),
        ),
    ],
)
def test_env(env: dict[str, Any], mbus: Address, blobstore: Address | None, ntp: tuple[str, ...]) -> None:
    """env.bosh comes before the agent's section, as for bosh-agent."""
    store = {"provider": "dav", "options": {"endpoint": "https://10.0.2.6:25250", "password": "secret"}}
    found = read({**FULL, "blobstore": store, "ntp": ["10.0.2.7"], "env": {"bosh": env}})
    assert (found.problem, found.mbus, found.blobstore, found.ntp) == ("", mbus, blobstore, ntp)
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (FULL, ""),
        ({**FULL, "vm": {"name": "vm-1"}, "disks": {}, "env": None, "dns": None}, ""),
        ({**FULL, "networks": {"a": {"type": "vip"}, "b": {"type": "dynamic", "default": None}}}, ""),
        ({**FULL, "env": {"bosh": {"mbus": {"urls": []}, "blobstores": [None]}}, "ntp": "time.example"}, ""),
        ({"networks": {"a": {}}, "registry": {"endpoint": "http://u:p@10.0.2.6:25777"}}, ""),
        ([], "is not a JSON object"),
        ({**FULL, "mbus": None}, "message bus"),
        ({**FULL, "mbus": "http://10.0.2.6:4222"}, "message bus"),
        ({**FULL, "agent_id": ""}, "agent id"),
        ({**FULL, "networks": {}}, "networks"),
        ({"networks": {"a": {}}, "registry": {"endpoint": ""}}, "agent id"),
    ],
)
def test_problem(document: Any, problem: str) -> None:
    """Settings that an agent can't use have a problem."""
    found = read(document).problem
    assert problem in found
    assert bool(found) is bool(problem)


@pytest.mark.parametrize(
    ("networks", "gateway"),
    [
        ({"a": {"ip": "10.0.1.10"}}, ""),
        (
            {"a": {"ip": "10.0.1.10", "default": ["dns"]}, "b": {"ip": "10.0.3.1", "default": ["gateway"]}},
            "10.0.3.1",
        ),
        ({"a": {"default": ["gateway"]}, "b": None}, ""),
    ],
)
def test_gateway(networks: dict[str, Any], gateway: str) -> None:
    """The network with the default gateway tells which interface leads elsewhere."""
    assert read({**FULL, "networks": networks}).gateway == gateway


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ({"provider": "local", "options": {"blobstore_path": "/x"}}, None),
        ({"provider": "s3", "options": {"bucket_name": "b"}}, Address("https", "s3.amazonaws.com", 443)),
        ({"provider": "s3", "options": {"host": "s3.example"}}, Address("http", "s3.example", 80)),
        (["dav"], None),
    ],
)
def test_blobstore(store: Any, expected: Address | None) -> None:
    """A blobstore is a server, or S3."""
    assert read({**FULL, "blobstore": store}).blobstore == expected


def test_addresses_as_ec2_writes_them() -> None:
    """IPv6 addresses have one spelling, so that they can be compared."""
    networks = {"a": {"ip": "2001:DB8:0::A", "default": ["gateway"]}}
    found = read({**FULL, "mbus": "nats://[2001:DB8:0:0::6]:4222", "networks": networks})
    assert (found.mbus, found.gateway) == (Address("nats", "2001:db8::6", 4222), "2001:db8::a")


def test_secret_lines() -> None:
    """Each line of a key is a secret: on a console it may stand between others."""
    pem = "-----BEGIN PRIVATE KEY-----\nMIIkeyfirstline\nMIIkeysecondline\nshort\n-----END PRIVATE KEY-----"
    document = {"env": [{"key": pem}], "agent_id": "a", "n": 1}
    assert agent_settings.secret_lines(document) == ["MIIkeyfirstline", "MIIkeysecondline"]


def test_dns() -> None:
    """DNS servers are those that the agent writes into resolv.conf."""
    nameservers = {"nameserver": ["10.0.0.2", 7, "2001:DB8:0::2"]}
    assert read({**FULL, "dns": nameservers}).dns == ("10.0.0.2", "2001:db8::2")
    assert read({**FULL, "dns": None}).dns == ()


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh", b"\xff\x00"])
def test_decode(data: bytes) -> None:
    """User data that is not JSON has no document."""
    assert agent_settings.decode(data) is None
    assert agent_settings.read(data).problem != ""
