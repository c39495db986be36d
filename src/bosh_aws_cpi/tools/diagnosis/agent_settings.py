"""The agent's settings in user data: what an agent needs, without passwords. Pure."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from bosh_aws_cpi import jsontext
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import Record

_BUS_SCHEMES: Final = frozenset({"nats", "https"})
"""The schemes of message buses that bosh-agent knows (`handler_provider.go`)."""
_S3: Final = "s3.amazonaws.com"
_PORTS: Final = {"nats": 4222, "https": 443, "http": 80}
"""The default port of an address, by its scheme."""
_SHORTEST: Final = 12
"""The minimum length of a key's line that is masked: a shorter one may be an ordinary word."""


class Address(Record):
    """A server's address, without user and password."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def is_of_agent(self) -> bool:
        """Whether it is a message bus that the agent itself serves, as with `bosh create-env`."""
        return self.scheme == "https"

    @property
    def is_on_vm(self) -> bool:
        """Whether a VM that uses it looks for the server on itself."""
        if not is_ip(self.host):
            return self.host == "localhost"
        host = ip_address(self.host)
        return host.is_loopback or host.is_unspecified


class AgentSettings(Record):
    """The settings that an agent reads from user data.

    Attributes:
        size: The size of the user data in bytes.
        problem: Why the agent can't use it; empty when it can.
        is_minimal: Whether the agent must read the rest from the registry.
        mbus: The message bus; None when the settings have none, or one that can't be read.
        blobstore: A blobstore server; None for one on the VM or in S3.
        dns: Addresses of DNS servers.
        ntp: Addresses or names of NTP servers.
        registry: The registry's endpoint; None when the settings name none.
        gateway: The VM's own address on the network of its default gateway; empty when none is named.
    """

    size: int
    problem: str = ""
    is_minimal: bool = False
    mbus: Address | None = None
    blobstore: Address | None = None
    dns: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    registry: Address | None = None
    gateway: str = ""


def read(user_data: bytes) -> AgentSettings:
    """Read user data, as the CPI writes it: one JSON object (bosh-agent, `http_metadata_service.go`)."""
    size = len(user_data)
    if not size:
        return AgentSettings(size, "The instance has no user data, so the agent gets no settings")
    document = decode(user_data)
    if not isinstance(document, dict):
        return AgentSettings(size, f"The user data ({size} bytes) is not a JSON object of agent settings")
    return _of_document(size, document)


def secret_lines(document: object) -> list[str]:
    """Each line of the keys and certificates in a document: on a console other texts may stand between."""
    if isinstance(document, dict):
        return [line for inner in document.values() for line in secret_lines(inner)]
    if isinstance(document, list):
        return [line for inner in document for line in secret_lines(inner)]
    if not isinstance(document, str) or "-----BEGIN " not in document:
        return []
    return [line for line in document.split() if len(line) >= _SHORTEST and "-----" not in line]


def decode(user_data: bytes) -> object:
    """The document in user data, with its secrets; None when there is none."""
    try:
        return jsontext.decode(user_data)
    except jsontext.JsonTextError:
        return None


def _of_document(size: int, document: Json) -> AgentSettings:
    bosh = _object(_object(document, "env"), "bosh")
    given = _object(bosh, "mbus").get("urls") or document.get("mbus")  # bosh-agent prefers env.bosh.mbus
    stores = bosh.get("blobstores")
    store = stores[0] if isinstance(stores, list) and stores else document.get("blobstore")
    endpoint = _object(document, "registry").get("endpoint")
    is_minimal = not document.get("agent_id")
    mbus = address(given[0] if isinstance(given, list) and given else given)
    return AgentSettings(
        size,
        _problem(document, mbus, is_minimal=is_minimal, has_endpoint=bool(endpoint)),
        is_minimal,
        mbus=mbus,
        blobstore=_blobstore(store if isinstance(store, dict) else {}),
        dns=tuple(map(_host, _texts(_object(document, "dns").get("nameserver")))),
        ntp=_texts(bosh.get("ntp") or document.get("ntp")),
        registry=address(endpoint),
        gateway=next(_gateways(_object(document, "networks")), ""),
    )


def _blobstore(store: Json) -> Address | None:
    options = _object(store, "options")
    if store.get("provider") == "s3" and not options.get("endpoint"):
        return address(options.get("host") or f"https://{_S3}")
    return address(options.get("endpoint"))


def _problem(document: Json, mbus: Address | None, *, is_minimal: bool, has_endpoint: bool) -> str:
    if is_minimal and not has_endpoint:
        return (
            "The user data has neither an agent id nor the registry where the agent could find its settings"
        )
    if not (is_minimal or (mbus is not None and mbus.scheme in _BUS_SCHEMES)):
        return "The agent settings in the user data have no usable message bus (mbus): nats://… or https://…"
    if not document.get("networks"):
        return "The agent settings in the user data have no networks"
    return ""


def address(url: object) -> Address | None:
    """The address in a URL; None for anything else."""
    if not isinstance(url, str):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    return Address(parts.scheme, _host(parts.hostname), port or _PORTS.get(parts.scheme, 80))


def _host(text: str) -> str:
    """A host; an address as EC2 writes it."""
    return str(ip_address(text)) if is_ip(text) else text


def is_ip(host: str) -> bool:
    """Whether a host is an address, and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _gateways(networks: Json) -> Iterator[str]:
    for network in networks.values():
        default = network.get("default") if isinstance(network, dict) else None
        if isinstance(default, list) and "gateway" in default and isinstance(network.get("ip"), str):
            yield _host(network["ip"])


def _object(parent: Any, key: str) -> Json:  # noqa: ANN401 - any JSON value
    inner = parent.get(key) if isinstance(parent, dict) else None
    return inner if isinstance(inner, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
