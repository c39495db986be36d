"""The configuration: cpi.json, or what the manifest for `bosh create-env` has in its place.

create-env renders the job aws_cpi from ``cloud_provider.properties`` of its manifest, so these and the job's
defaults are what its CPI reads (bosh-cli, installation/manifest/parser.go; jobs/aws_cpi). Pure.
"""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import create_model

from bosh_aws_cpi.config import aws_config, cpi_config
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.errors import BoshError, reason
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.tools.checks.bosh_rules import BOSH_CLI, CPI, hashes_in, refusal, unknown_keys_in
from bosh_aws_cpi.tools.checks.documents import Document, Node, variables_in
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


def _model(section: str = "") -> type[Properties]:
    """A model with the keys of ``cloud.properties``, or of a section in it; the agent's may be any."""
    paths = (row.path.removeprefix(section) for row in cpi_config.KEYS if row.path.startswith(section))
    keys = {path.partition(".")[0] for path in paths}
    inner = {key: _model(f"{section}{key}.") if f"{section}{key}" in _SECTIONS else Any for key in keys}
    fields: Any = {key: (each, None) for key, each in sorted(inner.items())}
    return create_model("Section", __base__=Properties, **fields)


_SECTIONS: Final = ("aws", "registry", "debug", "debug.cpi")
_MODEL: Final = _model()
_JOB: Final = {key: row.job_default for key, row in _ROWS.items() if row.job_default is not None}
"""What the job aws_cpi writes into cpi.json for keys that the manifest lacks."""
INTERPOLATE: Final = "Interpolate the file first (bosh interpolate)"


def unknown_keys(properties: Json) -> Iterator[Finding]:
    """A warning for each key of ``cloud.properties`` that the CPI ignores."""
    for around in hashes_in(((Document("", properties).root, _MODEL),)):
        for each in unknown_keys_in(around, CPI):
            *section, key = map(str, each.place.route if each.place else ())
            if cpi_config.is_name(key):
                yield each.replace(place=Place(".".join([*section, key])))
            else:
                what = "has a key that is not a name, and is ignored"
                remedy = "Add the space that may be missing after a colon"
                yield Finding(Severity.WARNING, what, remedy, Place(".".join(section) or "cloud.properties"))


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
    if whole.is_unknown:
        what = "is a variable: the configuration is that of cpi.json"
        return other, [Finding(Severity.NOT_CHECKED, what, INTERPOLATE, whole.place)]
    if whole.route[-1:] != ("aws",) or not isinstance(whole.value, dict):
        what = f"{_SHOWN}.aws must be a hash, the configuration of the CPI for create-env"
        remedy = "Add it, with region, default_security_groups and credentials"
        return aws, [refusal(whole, what, remedy, BOSH_CLI)]
    entries = {str(each.route[-1]): each for each in whole.entries() if each.value is not None}
    missing = [row.name for row in _ROWS.values() if row.is_required_by_job and row.name not in entries]
    what = "has no {}, which the job aws_cpi needs"
    found = [refusal(whole, what.format(key), f"Add {key}", BOSH_CLI) for key in missing]
    section: Json = {"region": aws.region, **_JOB}
    if _GROUPS in entries:
        section[_GROUPS] = _PLACEHOLDER_GROUPS
    found += unknown_keys_in(((document.root.at(*_ROUTE), _MODEL), (whole, _model("aws."))), CPI)
    for key, node in entries.items():
        found += _enter_key(key, node, given, section)
    section |= {key: given[key] for key in _CONNECTION_KEYS & given.keys() - entries.keys()}
    lent = section | dict.fromkeys(_CREDENTIALS) | {key: given[key] for key in _CREDENTIALS & given.keys()}
    has_variables = any(node.has_variables for key, node in entries.items() if key in _CREDENTIALS)
    for each in [lent] if has_variables else [section, lent]:
        try:
            return aws_config.parse(each, {}), found
        except BoshError as error:
            found.append(Finding(Severity.ERROR, reason(error), "", whole.place))
    return other, found


def _enter_key(key: str, node: Node, given: Json, section: Json) -> Iterator[Finding]:
    """Enter a key of the manifest into the section; in place of a variable, the value of cpi.json."""
    if key not in _ROWS:
        return
    if not node.has_variables:
        try:
            _ROWS[key].read({key: node.value})
            section[key] = node.value
        except BoshError as error:
            yield Finding(Severity.ERROR, reason(error), "", node.place)
    elif given.get(key) is not None:
        section[key] = given[key]
    elif key not in _CREDENTIALS:
        name = next(each for inner in node.variables() for each in variables_in(inner.value))
        what = f"{name} is a variable: aws.{key} is not checked"
        remedy = f"{INTERPOLATE}, or add it to cpi.json"
        yield Finding(Severity.NOT_CHECKED, what, remedy, node.place)


def move_to_manifest(finding: Finding, document: Document) -> Finding:
    """Give a finding about the configuration its place in the manifest."""
    place, remedy = finding.place, finding.remedy.replace("in cpi.json", f"in {_SHOWN}")
    if place is None or place.file or not place.path.startswith(_AWS):
        return finding.replace(remedy=remedy)
    node = document.root.at(*_ROUTE, *place.path.split("."))
    return finding.replace(place=node.place, remedy=remedy)
