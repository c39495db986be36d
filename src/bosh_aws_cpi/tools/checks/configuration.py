"""The configuration: cpi.json, or what the manifest for `bosh create-env` has in its place.

create-env renders the job aws_cpi from ``cloud_provider.properties`` of its manifest, so these and the job's
defaults are what its CPI reads (bosh-cli, installation/manifest/parser.go; jobs/aws_cpi). Pure.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from pydantic import create_model

from bosh_aws_cpi.config import aws_config, cpi_config, values
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import BoshError, reason
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.tools.checks.addresses import AnyAddress, address_of, ranges_of
from bosh_aws_cpi.tools.checks.bosh_rules import (
    BOSH_CLI,
    CPI,
    hashes,
    hashes_in,
    quoted_boolean,
    refusal,
    unknown_keys_in,
)
from bosh_aws_cpi.tools.checks.cloud_config import Files, type_of
from bosh_aws_cpi.tools.checks.documents import Document, Node, variables_in
from bosh_aws_cpi.tools.diagnosis.agent_settings import address
from bosh_aws_cpi.tools.findings import Finding, Place, Severity

_ROUTE: Final = ("cloud_provider", "properties")
_SHOWN: Final = ".".join(_ROUTE)
_AWS: Final = "aws."
_CREDENTIALS: Final = frozenset(
    {"credentials_source", "access_key_id", "secret_access_key", "session_token"}
    | {"role_arn", "external_id", "session_tags"}
)
"""Keys that are taken from one file together: keys and role of two files are no credentials."""
_CONNECTION_KEYS: Final = frozenset(
    {"connection_options", *(key.name for key in aws_config.ENDPOINTS.values())}
)
"""Keys that say how this machine reaches AWS."""
_GROUPS: Final = "default_security_groups"
_PLACEHOLDER_GROUPS: Final = ["((default_security_groups))"]
"""Stands for groups that only the interpolated manifest names."""
_ROWS: Final = AwsConfig.rows


def _model(paths: Collection[str], section: str = "") -> type[Properties]:
    """A model with the keys of dotted paths, or of a section in them; what is a path itself may hold any."""
    within = {path.removeprefix(section) for path in paths if path.startswith(section)}
    heads = {path.partition(".")[0] for path in within}
    inner = {head: Any if head in within else _model(paths, f"{section}{head}.") for head in heads}
    fields: Any = {key: (each, None) for key, each in sorted(inner.items())}
    return create_model("Section", __base__=Properties, **fields)


_PATHS: Final = {row.path for row in cpi_config.KEYS}
_MODEL: Final = _model(_PATHS)
_OF_JOB: Final = {
    *(path for path in _PATHS if path.startswith(_AWS)),
    *(name for row in cpi_config.KEYS for name in (row.job if row.job is not None else (row.path,))),
    *("env.http_proxy", "env.https_proxy", "env.no_proxy"),
    *("blobstore", "agent.blobstore"),  # the Ruby release's; today env.bosh.blobstores says the same
}
"""The properties of the job aws_cpi."""
_OF_PROVIDER: Final = ("template", "templates", "mbus", "cert", "ssh_tunnel")
_PROVIDER: Final = _model({*_OF_PROVIDER, *(f"properties.{path}" for path in _OF_JOB)})
"""``cloud_provider``, and the job's properties in it."""
_BUSES: Final = (("agent", "mbus"), ("agent", "nats", "address"), ("nats", "address"), ("nats", "password"))
"""Properties of which one gives the agent a message bus."""
_JOB: Final = {key: row.job_default for key, row in _ROWS.items() if row.job_default is not None}
"""What the job aws_cpi writes into cpi.json for keys that the manifest lacks."""
INTERPOLATE: Final = "Interpolate the file first (bosh interpolate)"


def unknown_keys(properties: Json) -> Iterator[Finding]:
    """A warning for each key of ``cloud.properties`` that the CPI ignores."""
    for each in _unknown_keys(Document("", properties).root, _MODEL):
        route = each.place.route if each.place else ()
        yield each.replace(place=Place(".".join(map(str, route)) or "cloud.properties"))


def quoted_booleans(section: Json) -> Iterator[Finding]:
    """A warning for each boolean in ``aws`` that is a string."""
    for key, row in _ROWS.items():
        if row.kind is values.boolean and not variables_in(section.get(key)):
            yield from quoted_boolean(section.get(key), Place(row.path))


def _unknown_keys(node: Node, model: type[Properties]) -> Iterator[Finding]:
    """A warning for each key that nothing reads; what is no name may hold a secret, and is not shown."""
    for around in hashes_in(((node, model),)):
        reader = BOSH_CLI if len(around) == 1 and model is _PROVIDER else CPI
        for each in unknown_keys_in(around, reader):
            if each.place is None or cpi_config.is_name(str(each.place.route[-1])):
                yield each
            else:
                what = "has a key that is not a name, and is ignored"
                remedy = "Add the space that may be missing after a colon"
                yield Finding(Severity.WARNING, what, remedy, around[-1][0].place)


def read_create_env(document: Document, given: Json, aws: AwsConfig) -> tuple[AwsConfig, list[Finding]]:
    """Read the configuration of create-env, and find what is wrong with it.

    Args:
        document: The manifest.
        given: The ``aws`` section of cpi.json. It supplies the values that are variables in the manifest, and
            the keys that say how AWS is reached.
        aws: That section, parsed: what is checked instead if the manifest's properties can't be read.
    """
    whole = document.root.at(*_ROUTE, "aws")
    other = aws.replace(default_security_groups=aws.default_security_groups or _PLACEHOLDER_GROUPS)
    found = [*_unknown_keys_of_provider(document.root.get("cloud_provider"))]
    if whole.is_unknown:
        what = "is a variable: the configuration is that of cpi.json"
        return other, [*found, Finding(Severity.NOT_CHECKED, what, INTERPOLATE, whole.place)]
    if whole.route[-1:] != ("aws",) or not isinstance(whole.value, dict):
        what = f"{_SHOWN}.aws must be a hash, the configuration of the CPI for create-env"
        remedy = "Add it, with region, default_security_groups and credentials"
        return aws, [*found, refusal(whole, what, remedy, BOSH_CLI)]
    entries = {str(each.route[-1]): each for each in whole.entries() if each.value is not None}
    missing = [row.name for row in _ROWS.values() if row.is_required_by_job and row.name not in entries]
    what = "has no {}, which the job aws_cpi needs"
    found += [refusal(whole, what.format(key), f"Add {key}", BOSH_CLI) for key in missing]
    section: Json = {"region": aws.region, **_JOB}
    if _GROUPS in entries:
        section[_GROUPS] = _PLACEHOLDER_GROUPS
    for key, node in entries.items():
        found += _enter_key(key, node, given, section)
    keys = [entries[key] for key in ("access_key_id", "secret_access_key") if key in entries]
    if section.get("credentials_source") == "env_or_profile" and any(each.has_variables for each in keys):
        found.append(refusal(keys[0], "is refused with credentials_source env_or_profile", "Remove it", CPI))
    section |= {key: given[key] for key in _CONNECTION_KEYS & given.keys() - entries.keys()}
    lent = section | dict.fromkeys(_CREDENTIALS) | {key: given[key] for key in _CREDENTIALS & given.keys()}
    has_variables = any(node.has_variables for key, node in entries.items() if key in _CREDENTIALS)
    for each in [lent] if has_variables else [section, lent]:
        try:
            return aws_config.parse(each, {}), found
        except BoshError as error:
            found.append(Finding(Severity.ERROR, reason(error), "", whole.place))
    return other, found


def _unknown_keys_of_provider(provider: Node | None) -> Iterator[Finding]:
    """The keys of ``cloud_provider`` that nothing reads; properties may be for another of several jobs."""
    if provider is None:
        return
    jobs = provider.get("templates")
    for each in _unknown_keys(provider, _PROVIDER):
        is_of_aws = provider.at("properties", "aws").holds(each.place)
        if is_of_aws or jobs is None or len(jobs.entries()) == 1 or each.source == BOSH_CLI:
            yield each


def _enter_key(key: str, node: Node, given: Json, section: Json) -> Iterator[Finding]:
    """Enter a key of the manifest into the section; in place of a variable, the value of cpi.json."""
    if key not in _ROWS:
        return
    if not node.has_variables:
        try:
            _ROWS[key].read({key: node.value})
            section[key] = node.value
            yield from quoted_boolean(node.value, node.place) if _ROWS[key].kind is values.boolean else ()
        except BoshError as error:
            yield Finding(Severity.ERROR, reason(error), "", node.place)
    elif given.get(key) is not None:
        section[key] = given[key]
    elif key not in _CREDENTIALS:
        name = next(each for inner in node.variables() for each in variables_in(inner.value))
        what = f"{name} is a variable: aws.{key} is not checked"
        remedy = f"{INTERPOLATE}, or add it to cpi.json"
        yield Finding(Severity.NOT_CHECKED, what, remedy, node.place)


def of_message_bus(files: Files) -> Iterator[Finding]:
    """Find that create-env's agent gets no message bus, or that bosh-cli looks for it at another address."""
    provider = files.documents[0].root.get("cloud_provider") if files.is_for_create_env else None
    if provider is None or not isinstance(provider.value, dict):
        return
    urls = [(pool, ("env", "bosh", "mbus", "urls")) for pool in files.lists["vm_types"]]
    given = [*((provider.at("properties"), keys) for keys in _BUSES), *urls]
    if not any(_is_given(node, *keys) for node, keys in given):
        what = "has no agent.mbus: the agent gets no message bus, and bosh create-env waits for it in vain"
        remedy = f"Add {_SHOWN}.agent.mbus: that of cloud_provider, with the host 0.0.0.0"
        yield refusal(provider.at("properties", "agent", "mbus"), what, remedy, BOSH_CLI)
    if not _is_given(provider, "mbus"):
        what = "has no mbus, the address at which bosh create-env reaches the VM's agent"
        remedy = f"Add it: the one of {_SHOWN}.agent, with an address of the VM"
        yield refusal(provider.at("mbus"), what, remedy, BOSH_CLI)
        return
    bus, own = address(provider.at("mbus").value), _addresses(files)
    served = address(provider.at(*_ROUTE[1:], *_BUSES[0]).value)
    if bus is not None and served is not None and served.is_of_agent and bus.port != served.port:
        what = f"bosh create-env looks for the agent at port {bus.port}, and the agent serves {served.port}"
        remedy = "Use one port, unless another machine passes it on"
        yield Finding(Severity.WARNING, what, remedy, provider.at("mbus").place, BOSH_CLI)
    if bus is not None and own and (host := address_of(bus.host)) is not None and host not in own:
        what = f"bosh create-env looks for the agent at {host}, and the VM has {', '.join(map(str, own))}"
        remedy = "Use an address of the VM, unless another machine passes it on"
        yield Finding(Severity.WARNING, what, remedy, provider.at("mbus").place, BOSH_CLI)


def _is_given(node: Node, *keys: str) -> bool:
    """Whether there is a value, or may be one, since it or a hash around it is a variable."""
    return node.get(*keys) is not None or node.at(*keys).is_unknown


def _addresses(files: Files) -> list[AnyAddress]:
    """All addresses of create-env's VM; none if one of them is not known."""
    found: list[AnyAddress] = []
    for entry in (each for group in files.groups for each in hashes(group.get("networks"))):
        network, blocks = files.find("networks", entry.get("name")), ranges_of(entry.get("static_ips"))
        if network is None or type_of(network) not in {"manual", "vip"} or not blocks:
            return []
        found.append(blocks[0][1][0][0])
    return found


def move_to_manifest(finding: Finding, document: Document) -> Finding:
    """Give a finding about the configuration its place in the manifest."""
    place, remedy = finding.place, finding.remedy.replace("in cpi.json", f"in {_SHOWN}")
    if place is None or place.file or not place.path.startswith(_AWS):
        return finding.replace(remedy=remedy)
    node = document.root.at(*_ROUTE, *place.path.split("."))
    return finding.replace(place=node.place, remedy=remedy)
