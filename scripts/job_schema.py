"""The JSON Schema of the job's properties, from the table of keys.

A Director checks a job's properties by it before it renders the templates (RFC 0035; `JobSchemaValidator` in
its source). The schema rejects only what the executable rejects, too. A missing property is left to the
template, whose error names it: the Director sets each property that the manifest lacks to null. Unknown
properties can't be found, because the Director drops them before.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bosh_aws_cpi.config import values
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.cpi_config import KEYS
from bosh_aws_cpi.properties.vm import OTHER_SPELLINGS, MetadataOptions

if TYPE_CHECKING:
    from bosh_aws_cpi.config.values import Key

Json = dict[str, Any]
ANYTHING: Json = {}
STRING: Json = {"type": "string"}
CERTIFICATE: Json = {"type": "certificate"}
"""A type that only the Director knows: certificates in PEM format, or an empty string."""
KINDS: dict[str, tuple[str, Json]] = {
    "object": ("any", ANYTHING),
    "str": ("string", STRING),
    "str | None": ("string", STRING),
    "list[str]": ("list of strings", {"type": "array", "items": STRING}),
    "bool": ("boolean", {"type": "boolean"}),
    "int": ("whole number", {"type": "integer"}),
    "Json": ("object", {"type": "object"}),
    "Mapping[str, str]": ("object", {"type": "object"}),
    "Mapping[str, str | None]": ("object", {"type": "object"}),
    "Stemcell": ("object", {"type": "object"}),
}
"""The types of keys, for the pages and for the schema, by what their kinds return."""


def whole_text(pattern: str) -> str:
    """A pattern that the whole text must match: in Ruby, which the Director runs, ^ and $ are a line's."""
    return rf"(?<![\s\S])({pattern})(?![\s\S])"


LIMITS: dict[Any, Json] = {
    values.log_file: {"type": ["string", "boolean"]},  # for true, the template has the job's own path
    values.whole_number: {"minimum": 0},
    values.contract_version: {"minimum": 1},
    **{
        kind: {"pattern": whole_text(f"({pattern})?")}  # an empty string is as good as null
        for kind, pattern in {
            values.sendable: values.SENDABLE,
            values.region: values.SENDABLE,
            values.role_arn: values.ROLE_ARN,
            values.external_id: values.EXTERNAL_ID,
        }.items()
    },
}
UNSET: Json = {"enum": [None]}
FALSY: Json = {"enum": [None, "", False, 0, [], {}]}
"""What means the default of a key with choices."""
BLANK: Json = {"anyOf": [UNSET, {"type": "string", "pattern": r"^\s*$"}]}
"""What means that there are no certificates of one's own."""


def kind_of(key: Key[Any]) -> tuple[str, Json]:
    """The type of a key, for the pages and for the schema."""
    returned = key.kind.__annotations__["return"]
    if returned not in KINDS:
        sys.exit(f"KINDS of scripts/job_schema.py has no {returned}, the type of {key.path}")
    name, schema = KINDS[returned]
    return name, {**schema, **LIMITS.get(key.kind, {})}


def of_key(key: Key[Any]) -> Json:
    """The schema of a property that is a key of cpi.json."""
    if key.kind is values.one_of:
        return given({"enum": [*key.choices]}, FALSY)
    if key.path == AwsConfig.metadata_options.path:
        return given(metadata_options())
    if key.kind is values.optional_choice:
        return given({"enum": [*key.choices]})
    is_any = key.kind is values.boolean and not key.is_new  # only null and false are false
    return ANYTHING if is_any else given(kind_of(key)[1])


def metadata_options() -> Json:
    """The options that EC2 has, and their types; their words are left to EC2, which may get new ones."""
    found = MetadataOptions.model_json_schema()["properties"]
    types = {name: given(or_digits(each["anyOf"][0])) for name, each in found.items()}
    types |= {other: types[name] for other, name in OTHER_SPELLINGS.items()}
    return {"type": "object", "additionalProperties": UNSET, "properties": types}


def or_digits(schema: Json) -> Json:
    """The schema of a whole number, which may also be a string of digits."""
    is_number = schema["type"] == "integer"
    return {**schema, "type": ["integer", "string"], "pattern": whole_text("[0-9]+")} if is_number else schema


def given(schema: Json, unset: Json = UNSET) -> Json:
    """The schema of a property that may be unset. As a condition, so that an error says what is expected."""
    return {"if": unset, "else": schema} if schema else ANYTHING


def document() -> Json:
    """The whole schema."""
    whole: Json = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}
    for path, schema in {
        **{key.path: of_key(key) for key in KEYS if key.job is None},
        f"{AwsConfig.connection_options.path}.ca_cert": given(CERTIFICATE, BLANK),
    }.items():
        *parents, name = path.split(".")
        section = whole
        for parent in parents:
            section = section.setdefault("properties", {}).setdefault(parent, {"type": "object"})
        section.setdefault("properties", {})[name] = schema
    return whole
