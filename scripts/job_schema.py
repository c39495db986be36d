"""The JSON Schema of the job's properties, from the table of keys.

A Director checks a job's properties by it before it renders the templates (RFC 0035; `JobSchemaValidator` in
its source). The schema rejects only what the executable rejects, too. A missing property is left to the
template, whose error names it: the Director sets each property that the manifest lacks to null. Unknown
properties can't be found, because the Director drops them before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.config import values
from bosh_aws_cpi.config.keys import CONNECTION_OPTIONS, KEYS

if TYPE_CHECKING:
    from bosh_aws_cpi.config.values import Key

Json = dict[str, Any]
ANYTHING: Json = {}
STRING: Json = {"type": "string"}
CERTIFICATE: Json = {"type": "certificate"}
"""A type that only the Director knows: certificates in PEM format, or an empty string."""
KINDS: dict[Any, Json] = {
    values.anything: ANYTHING,
    values.flag: ANYTHING,  # only null and false are false, everything else is true
    values.boolean: {"type": "boolean"},
    values.string: STRING,
    values.sendable: STRING,
    values.role_arn: STRING,
    values.region: STRING,
    values.external_id: STRING,
    values.https_url: STRING,
    values.http_url: STRING,
    values.log_file: {"type": ["string", "boolean"]},  # for true, the template has the job's own path
    values.strings: {"type": "array", "items": STRING},
    values.whole_number: {"type": "integer", "minimum": 0},
    values.contract_version: {"type": "integer", "minimum": 1},
    values.json_object: {"type": "object"},
}
UNSET: Json = {"enum": [None]}
FALSY: Json = {"enum": [None, "", False, 0, [], {}]}
"""What means the default of a key with choices."""
BLANK: Json = {"anyOf": [UNSET, {"type": "string", "pattern": r"^\s*$"}]}
"""What means that there are no certificates of one's own."""


def of_key(key: Key[Any]) -> Json:
    """The schema of a property that is a key of cpi.json."""
    if key.kind is values.one_of:
        return given({"enum": [*key.choices]}, FALSY)
    return given({"enum": [*key.choices]} if key.kind is values.optional_choice else KINDS[key.kind])


def given(schema: Json, unset: Json = UNSET) -> Json:
    """The schema of a property that may be unset. As a condition, so that an error says what is expected."""
    return {"if": unset, "else": schema} if schema else ANYTHING


def document() -> Json:
    """The whole schema."""
    whole: Json = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}
    for path, schema in {
        **{key.path: of_key(key) for key in KEYS if key.job is None},
        f"{CONNECTION_OPTIONS.path}.ca_cert": given(CERTIFICATE, BLANK),
    }.items():
        *parents, name = path.split(".")
        section = whole
        for parent in parents:
            section = section.setdefault("properties", {}).setdefault(parent, {"type": "object"})
        section.setdefault("properties", {})[name] = schema
    return whole
