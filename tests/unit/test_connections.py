"""Which certificates a connection of the SDK trusts."""

import ssl
from pathlib import Path
from threading import Lock

import pytest
from urllib3.connection import HTTPSConnection

from bosh_aws_cpi import connections


def test_one_thread_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A context of the SDK is given the folder while no other thread gives it to one; OpenSSL might crash."""
    given, lock = [], Lock()

    def load(*arguments: object, **named: object) -> None:
        given.append((lock.locked(), *arguments, named))

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", load)
    monkeypatch.setattr(connections, "_original_connect", lambda _: None)
    monkeypatch.setattr(connections, "_loading_lock", lock)
    monkeypatch.setattr(HTTPSConnection, "connect", HTTPSConnection.connect)
    connections.install()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    connection = HTTPSConnection("127.0.0.1", ssl_context=context, ca_certs=str(tmp_path))
    connection.connect()
    assert given == [(True, context, {"capath": str(tmp_path)})]
    assert (connection.ca_certs, connection.ca_cert_dir) == (None, str(tmp_path))


def test_path_that_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator's bundle of which the system does not say what it is counts as a file."""
    monkeypatch.setattr(connections, "_original_connect", lambda _: None)
    monkeypatch.setattr(HTTPSConnection, "connect", HTTPSConnection.connect)
    connections.install()
    context, path = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "x" * 5000
    connection = HTTPSConnection("127.0.0.1", ssl_context=context, ca_certs=path)
    connection.connect()
    assert (connection.ca_certs, connection.ca_cert_dir) == (path, None)
