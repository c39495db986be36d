"""The keys of the sections ``agent``, ``registry`` and ``debug``."""

from __future__ import annotations

from bosh_aws_cpi.config.values import (
    Key,
    anything,
    contract_version,
    http_url,
    json_object,
    one_of,
    string,
)
from bosh_aws_cpi.log import LEVELS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_API_VERSION: Final = 3
"""The newest contract version that `info` announces."""
AGENT = Key(
    "agent",
    json_object,
    "Copied unchanged into every VM's agent settings: mbus, ntp, blobstore and others.",
    job=(),
)
AGENT_MBUS = Key(
    "agent.mbus",
    anything,
    "The agents' message bus, as a URL.",
    job=("agent.mbus", "agent.nats.address", "nats.address", "nats.port", "nats.user", "nats.password"),
    is_secret=True,
)
AGENT_NTP = Key("agent.ntp", anything, "The VMs' time servers.", job=("ntp",))
REGISTRY_ENDPOINT = Key(
    "registry.endpoint",
    http_url,
    "Registry as host, host:port or URL (default scheme http), for stemcells of api_version 1.",
    job=("registry.username", "registry.password", "registry.host", "registry.port"),
    is_secret=True,
)
REGISTRY_USER = Key("registry.user", string, "The registry's user.", job=("registry.username",))
REGISTRY_PASSWORD = Key(
    "registry.password", string, "The registry's password.", job=("registry.password",), is_secret=True
)
DEBUG_API_VERSION = Key(
    "debug.cpi.api_version",
    contract_version,
    "The highest contract version that `info` announces. Current Directors and bosh CLIs reject version 1.",
    default=MAX_API_VERSION,
    choices=tuple(range(1, MAX_API_VERSION + 1)),
)
DEBUG_LOG_LEVEL = Key(
    "debug.cpi.log_level",
    one_of,
    "`debug`, `info`, `warn` or `error`; `debug` logs every AWS call, without secrets.",
    default="info",
    choices=tuple(LEVELS),
    is_new=True,
)
