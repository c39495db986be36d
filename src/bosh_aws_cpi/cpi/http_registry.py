"""The registry over HTTP, for the agents of old stemcells."""

from collections.abc import Container
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import requests

from bosh_aws_cpi import connections, jsontext
from bosh_aws_cpi.aws.sdk.timing import ANSWERED
from bosh_aws_cpi.config.cpi_config import RegistryConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import logger

_OK = 200
_OK_OR_MISSING = frozenset({_OK, 404})
CONNECT_TIMEOUT = 10
"""Seconds."""
_MAX_ANSWER_BYTES = 1 << 22
"""The most bytes of an answer; a VM's settings have some thousands."""


class HttpRegistry:
    """``PUT``, ``GET`` and ``DELETE`` of ``{endpoint}/instances/{vm_cid}/settings``.

    Args:
        config: Its URL, and the user and password for Basic authentication. Credentials in the URL are
            not used: they are meant for the agent.
    """

    is_used = True

    def __init__(self, config: RegistryConfig) -> None:
        self._base = _without_userinfo(config.base_url)
        parts = urlsplit(self._base)
        self._name = f"registry at {parts.scheme}://{parts.netloc}"
        connections.install()
        self._session = requests.Session()
        # As bytes, because Latin-1, HTTP's encoding, lacks characters that a password may contain.
        user, password = (config.user or "").encode(), (config.password or "").encode()
        self._session.auth = (user, password)  # type: ignore[assignment]  # requests accepts bytes, too

    def check(self, vm_cid: str) -> None:
        """Do nothing: only a request shows whether the registry works."""

    def has(self, vm_cid: str) -> bool:
        """Whether the registry has settings of a VM.

        Raises:
            CloudError: The registry did not answer, or refused the request.
        """
        status, _ = self._send("GET", vm_cid, f"Cannot read settings for '{vm_cid}'", _OK_OR_MISSING)
        return status == _OK

    def save(self, vm_cid: str, settings: Json) -> None:
        """Write a VM's settings.

        Raises:
            CloudError: The registry did not accept them.
        """
        failure = f"Cannot update settings for '{vm_cid}'"
        body = jsontext.encode(settings).encode()
        headers = {"Content-Type": "application/json"}
        self._send("PUT", vm_cid, failure, range(200, 300), data=body, headers=headers)

    def delete(self, vm_cid: str) -> None:
        """Delete a VM's settings; no error if there are none.

        Raises:
            CloudError: The registry did not delete them.
        """
        self._send("DELETE", vm_cid, f"Cannot delete settings for '{vm_cid}'", _OK_OR_MISSING)

    def attach(self, vm_cid: str, disk_cid: str, device_path: str) -> None:
        """Add a persistent disk to a VM's settings.

        Raises:
            CloudError: They can't be read or written.
        """
        settings = self._read(vm_cid)
        _persistent_disks(settings)[disk_cid] = device_path
        self.save(vm_cid, settings)

    def detach(self, vm_cid: str, disk_cid: str) -> bool:
        """Remove a persistent disk from a VM's settings; if it is not in them, nothing is written.

        Returns:
            Whether it was in them.

        Raises:
            CloudError: They can't be read or written.
        """
        settings = self._read(vm_cid)
        if _persistent_disks(settings).pop(disk_cid, None) is None:
            return False
        self.save(vm_cid, settings)
        return True

    def _read(self, vm_cid: str) -> Json:
        _, content = self._send("GET", vm_cid, f"Cannot read settings for '{vm_cid}'", {_OK})
        body = self._parsed(vm_cid, content)
        if not isinstance(body, dict):
            raise self._failed(f"Invalid registry response, Hash expected, got {jsontext.type_name(body)}")
        text = body.get("settings")
        settings = self._parsed(vm_cid, text.encode()) if isinstance(text, str) else text
        if not isinstance(settings, dict):
            kind = jsontext.type_name(settings)
            raise self._failed(f"Invalid settings format, Hash expected, got {kind}")
        return settings

    def _send(
        self,
        http_method: str,
        vm_cid: str,
        failure: str,
        accepted: Container[int],
        **body: Any,  # noqa: ANN401 - the session's arguments
    ) -> tuple[int, bytes]:
        """Send a request; a status that is not expected is an error that begins with `failure`."""
        url = f"{self._base}/instances/{quote(vm_cid, safe='')}/settings"
        timeout = (CONNECT_TIMEOUT, ANSWERED.seconds)
        try:
            answer = self._session.request(
                http_method, url, timeout=timeout, allow_redirects=False, stream=True, **body
            )
            content = connections.read(answer, _MAX_ANSWER_BYTES)
        except requests.RequestException as error:
            raise self._failed(f"{failure}: {_reason(error)}") from None
        if content is None:
            raise self._failed(f"{failure}: the answer has more than {_MAX_ANSWER_BYTES} bytes")
        logger.debug("Registry %s %s: HTTP %d", http_method, url, answer.status_code)
        if answer.status_code not in accepted:
            raise self._failed(f"{failure}, got HTTP {answer.status_code}")
        return answer.status_code, content

    def _parsed(self, vm_cid: str, text: bytes) -> Any:  # noqa: ANN401 - any JSON value
        try:
            return jsontext.decode(text)
        except jsontext.JsonTextError as error:
            raise self._failed(f"Cannot parse settings for '{vm_cid}': {error}") from None

    def _failed(self, text: str) -> CloudError:
        return CloudError(f"{text} ({self._name})")


def _without_userinfo(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


def _persistent_disks(settings: Json) -> Json:
    """Return the persistent disks in a VM's settings; a value that is not an object counts as missing."""
    for key in ("disks", "persistent"):
        if not isinstance(settings.get(key), dict):
            settings[key] = {}
        settings = settings[key]
    return settings


def _reason(error: requests.RequestException) -> str:
    """Return why the registry did not answer: the innermost cause, which does not contain the URL."""
    cause: BaseException = error
    while cause.__context__ is not None:
        cause = cause.__context__
    return f"{type(error).__name__}: {cause}"
