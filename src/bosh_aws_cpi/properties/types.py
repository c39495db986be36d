"""What all cloud properties share: their types, how they are read, and how errors are reported.

Unknown keys are logged, since manifests carry keys of other versions and other CPIs. They are an error where
security would get weaker without a word: see `Properties.refuses`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from ipaddress import ip_network
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json, is_true, type_name
from bosh_aws_cpi.log import NEAR_SECURITY, logger, nearest, warn_of_text
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.records import Record

_LONGEST_NUMBER: Final = 20
"""The maximum number of digits of a number in a text, and of a wrong one that an error shows."""
_NUMBERS: Final = re.compile(rf"[-+$0-9.,/]{{1,{_LONGEST_NUMBER}}}|(?=.*:)[0-9a-fA-F:./]{{2,43}}")
"""Texts that may be shown: a price, an IPv4 or an IPv6 address, or a range of these."""
_PRICE_FLOOR: Final = Decimal("0.001")
"""A price in dollars; EC2 wants more (API model, SpotMarketOptions, MaxPrice)."""


def _truth(value: object, info: ValidationInfo) -> bool:
    """Ruby's truth, with a warning for a string."""
    warn_of_text(str(info.field_name), value)
    return is_true(value)


def _as_whole(value: object) -> object:
    """A whole number also as a text, as variables give it, and as a float, as the Ruby release reads it."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _LONGEST_NUMBER:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _flat(value: object) -> list[object]:
    """One list of what is in lists, or alone, as the Ruby release makes of it."""
    return [each for entry in value for each in _flat(entry)] if isinstance(value, list) else [value]


def _as_cidr(value: object) -> object:
    """A range of addresses as EC2 keeps it, without host bits."""
    with suppress(ValueError):
        if isinstance(value, str) and "/" in value:
            return str(ip_network(value, strict=False))
    raise ValueError("must be a range of addresses in CIDR notation")


def _as_price(value: object) -> object:
    """A price in dollars as EC2 takes it, a string."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(InvalidOperation):
            price = Decimal(str(value))
            if price.is_finite() and price > _PRICE_FLOOR:
                return f"{price:f}"
    raise ValueError(f"must be a price in dollars, more than {_PRICE_FLOOR}")


Value = TypeVar("Value")
Location = tuple[str | int, ...]
"""The keys and indexes that lead to a value."""
Truth = Annotated[bool, BeforeValidator(_truth)]
Text = Annotated[str, Field(coerce_numbers_to_str=True), WithJsonSchema({"type": ["string", "number"]})]
"""A string, or a number, as YAML makes of an unquoted one."""
Groups = Annotated[
    tuple[str, ...],
    BeforeValidator(_flat),
    WithJsonSchema({"type": ["array", "string"], "items": {"type": ["string", "array"]}}),
]
"""The security groups of a network."""
WHOLE: Final = BeforeValidator(_as_whole)
"""The validator of all whole numbers; it follows their limits, so that the JSON Schema has the limits."""
Mib = Annotated[int, Field(strict=True, gt=0), WHOLE]
Count = Annotated[int, Field(strict=True, gt=0), WHOLE]
InitializationRate = Annotated[int, Field(strict=True, ge=100, le=300), WHOLE]
"""MiB/s; the range is that of EC2's API reference, EbsBlockDevice."""
Cidr = Annotated[str, BeforeValidator(_as_cidr)]
Price = Annotated[
    str,
    BeforeValidator(_as_price),
    WithJsonSchema(
        {"type": ["string", "number"], "exclusiveMinimum": float(_PRICE_FLOOR), "pattern": r"^[0-9.]+$"}
    ),
]


class AwsName(Record):
    """What a text names in AWS, for `cpi check`: what to give, and its form.

    PARTITION and REGION stand for the region's names. The forms are those of the services' API models.
    """

    what: str
    form: str


NOUNS: Final = {
    "acl": "a network ACL",
    "ami": "an AMI",
    "cr": "a capacity reservation",
    "eni": "a network interface",
    "h": "a Dedicated Host",
    "i": "an instance",
    "igw": "an internet gateway",
    "key": "a key pair",
    "lt": "a launch template",
    "pg": "a placement group",
    "rtb": "a route table",
    "sg": "a security group",
    "snap": "a snapshot",
    "subnet": "a subnet",
    "vol": "a volume",
    "vpc": "a VPC",
}
"""Beginnings of EC2's ids, and what has them."""


def id_of(beginning: str) -> AwsName:
    """The ids of things."""
    form = rf"{beginning}-(?:[0-9a-f]{{1,8}}|[0-9a-f]{{17}})"
    return AwsName(f"the id of {NOUNS[beginning]}, {beginning}-…", form)


def arn(service: str, resource: str) -> str:
    """The form of an ARN in the region."""
    return rf"arn:PARTITION:{service}:REGION:\d{{12}}:{resource}/.+"


SubnetId = Annotated[str, id_of("subnet")]
RouteTableId = Annotated[str, id_of("rtb")]
_KEY_ID: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32}"
KmsKey = Annotated[
    str,
    AwsName(
        "the ARN of a KMS key in REGION, its id, or its alias, alias/…",
        f"{arn('kms', '(?:key|alias)')}|alias/.+|{_KEY_ID}",
    ),
]

MISSING: Final = "is missing"
"""The message for a required key that is missing."""
HASH_RULE: Final = "hash_rule"
"""The type of pydantic's error for a hash whose keys contradict each other: a hash as such is right."""
_TYPE_NOUNS: Final = {
    "tuple_type": "a list",
    "list_type": "a list",
    "model_type": "a hash",
    "dict_type": "a hash",
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
}
"""Pydantic's errors for values of another type, and what belongs there in the words of JSON and YAML."""
_BOUNDS: Final = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
}
"""Pydantic's errors for numbers beyond a limit: where the limit is in the error, and its word."""
_OF_ENCRYPTION: Final = frozenset({"encrypted", "kms_key_arn"})
"""The keys for which null is a value: no encryption or no key, whatever the defaults are."""
UNKNOWN: Final = "is unknown"
"""The beginning of the message for an unknown key that is refused."""


class Problem(Record):
    """Why a method refuses properties that are right one by one.

    Attributes:
        key: The property that is to blame, in the hash that the caller gave: "ephemeral_disk.iops".
        text: What is wrong with it, and the remedy: the error's message.
        beside: Other properties that have a part in it.
    """

    key: str
    text: str
    beside: tuple[str, ...] = ()


class WrongType(CloudError):
    """A property has a value of the wrong type, which `cpi check` finds by the models themselves."""


class PropertyError(CloudError):
    """A property is wrong.

    Args:
        problem: Which, and why.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def problem_of(error: CloudError, key: str) -> Problem:
    """Return an error's problem; a plain CloudError blames the property given."""
    return error.problem if isinstance(error, PropertyError) else Problem(key, error.message)


def refuse(problems: Iterable[Problem]) -> None:
    """Refuse what has a problem; `cpi check` lists all problems.

    Raises:
        PropertyError: There is one; the first is the message.
    """
    for first in problems:
        raise PropertyError(first)


class Review:
    """The problems of a method's arguments: the method refuses them with the first.

    `cpi check` lists all of them.
    """

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.ignored: list[Problem] = []
        """What the method accepts and ignores, as the Ruby release does, so that manifests keep working."""

    def attempt(self, key: str, step: Callable[[], Value]) -> Value | None:
        """Return a step's result; None if the step refuses the arguments, which is noted as a problem.

        Args:
            key: The property to blame.
            step: Raises a CloudError if it refuses them; a `PropertyError` names the property to blame.

        Raises:
            WrongType: One has the wrong type.
        """
        try:
            return step()
        except WrongType:
            raise
        except CloudError as error:
            self.problems.append(problem_of(error, key))
            return None

    def ignore(self, key: str, text: str, *beside: str) -> None:
        """Note a property that has no effect, because of those beside it."""
        self.ignored.append(Problem(key, text, beside))

    def accept(self, plan: Value | None) -> Value:
        """Return the plan if there is no problem, and log what is ignored.

        Raises:
            CloudError: There is a problem; the first is the message.
        """
        refuse(self.problems)
        if plan is None:
            raise ValueError("no problem, and no plan")
        for each in dict.fromkeys(self.ignored):
            logger.warning("%s", each.text, is_whole=True)
        return plan


class Properties(BaseModel):
    """A hash of properties; a null property counts as absent."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        """Drop the properties that are null, and refuse some unknown ones."""
        if not isinstance(values, dict):
            return values
        given = {key: value for key, value in values.items() if value is not None or key in _OF_ENCRYPTION}
        unknown = (key for key in given if key not in cls.model_fields and isinstance(key, str))
        if refused := [key for key in unknown if cls.refuses(key)]:
            raise ValidationError.from_exception_data(
                cls.__name__, [{"type": cls._refusal(key), "loc": (key,), "input": None} for key in refused]
            )
        return given

    @classmethod
    def refuses(cls, key: str) -> bool:
        """Whether an unknown key is an error: by default, if it is very like one of encryption."""
        is_of_encryption = cls.nearest(key).rpartition(".")[2] in _OF_ENCRYPTION
        return is_of_encryption and bool(nearest(key, _OF_ENCRYPTION, NEAR_SECURITY))

    @classmethod
    def nearest(cls, key: str) -> str:
        """The known name that is nearest to an unknown key; empty if none is near.

        A key that belongs in a hash is known there: "cpu_options.core_count".
        """
        return " or ".join(cls._hashes_with(key)) or nearest(key, cls.model_fields)

    @classmethod
    def _refusal(cls, key: str) -> PydanticCustomError:
        near = cls.nearest(key)
        remedy = f"did you mean {near}?" if near else "remove it"
        return PydanticCustomError(HASH_RULE, f"{UNKNOWN}: {remedy}")

    def not_chosen(self, key: str, *names: str) -> "Iterator[Problem]":
        """The problem that not exactly one of these properties is given.

        Args:
            key: Where the hash stands in the cloud properties.
            names: The properties.
        """
        if sum(getattr(self, name) is not None for name in names) != 1:
            yield Problem(key, f"cloud_properties.{key} must hold exactly one of: {', '.join(names)}")

    def unknown(self) -> "Iterator[tuple[Location, str]]":
        """Yield the location of each unknown key, and the nearest known name; empty if none is near."""
        for key in self.model_extra or {}:
            yield (key,), self.nearest(key)
        for name in type(self).model_fields:
            inner = getattr(self, name)
            entries: list[tuple[Location, Any]] = [((name,), inner)]
            if isinstance(inner, tuple):
                entries = [((name, index), entry) for index, entry in enumerate(inner)]
            for route, entry in entries:
                for rest, near in entry.unknown() if isinstance(entry, Properties) else ():
                    yield (*route, *rest), near

    @classmethod
    def _hashes_with(cls, key: str) -> "Iterator[str]":
        """Return the hashes among the properties that know a key; lists of hashes are not searched."""
        for name, field in cls.model_fields.items():
            parts = get_args(field.annotation) if get_origin(field.annotation) is UnionType else ()
            for part in (field.annotation, *parts):
                if isinstance(part, type) and issubclass(part, Properties) and key in part.model_fields:
                    yield f"{name}.{key}"


class Closed(Properties):
    """A hash about security: an unknown key is an error, because it may be a mistyped one."""

    @classmethod
    def refuses(cls, key: str) -> bool:  # noqa: ARG003 - all are
        """Whether an unknown key is an error: always."""
        return True


class SentWhole(Closed):
    """A hash that goes to EC2 whole."""

    @property
    def ec2_names(self) -> Json:
        """The given properties under EC2's names."""
        return camel_keys(self.model_dump(exclude_none=True))


def camel_keys(options: Mapping[str, object]) -> Json:
    """Options with EC2's names for the keys, which are in snake case."""
    return {name.title().replace("_", ""): value for name, value in options.items()}


class Encryptable(Properties):
    """The properties of a resource that EBS can encrypt."""

    encrypted: Truth = False
    """Encrypt it. Default: `aws.encrypted`."""
    kms_key_arn: KmsKey | None = None
    """KMS key; without one, the account's default key for EBS. Default: `aws.kms_key_arn`."""

    def encryption(self, default: Encryption, path: str = "cloud_properties") -> Encryption:
        """Return the encryption by the properties, else by the defaults; a false property counts as given.

        Args:
            default: The defaults.
            path: Where the properties stand, for messages.
        """
        given = self.model_fields_set
        is_own = "kms_key_arn" in given
        return Encryption(
            self.encrypted if "encrypted" in given else default.encrypted,
            self.kms_key_arn if is_own else default.kms_key_arn,
            f"{path}.kms_key_arn" if is_own else default.key_source,
            "encrypted" in given or default.is_chosen,
        )

    def key_problems(self, encryption: Encryption) -> "Iterator[Problem]":
        """The problem that nothing would use the properties' own KMS key; the text begins with its name.

        EC2 refuses it, too: "The parameter KmsKeyId requires the parameter Encrypted to be set".

        Args:
            encryption: What applies: the properties' own, with the defaults.
        """
        if self.kms_key_arn and not encryption.encrypted:
            text = (
                "kms_key_arn has no effect without encryption: set encrypted to true, or remove kms_key_arn"
            )
            yield Problem("kms_key_arn", text)


_Parsed = TypeVar("_Parsed", bound=Properties)


def read_properties(model: type[_Parsed], values: Json, path: str) -> _Parsed:
    """Read properties; unknown ones are logged.

    Args:
        model: What they are.
        values: As the manifest gives them.
        path: Where they stand, for messages.

    Raises:
        WrongType: One has the wrong type.
    """
    try:
        properties = model.model_validate(values)
    except ValidationError as error:
        wrong = "; ".join(f"{_join_path(path, route)}: {text}" for route, text in mistakes(error))
        raise WrongType(f"Invalid properties: {wrong}") from None
    unknown = [
        _join_path(path, route) + (f" (did you mean {near}?)" if near else "")
        for route, near in properties.unknown()
    ]
    if unknown:
        logger.warning("Unknown properties are ignored: %s", ", ".join(unknown), is_whole=True)
    return properties


def mistakes(error: ValidationError) -> "Iterator[tuple[Location, str]]":
    """Yield the location and the message of each wrong value; only what can be no secret is quoted."""
    for entry in error.errors(include_url=False):
        kind, route, value = entry["type"], entry["loc"], entry["input"]
        own = entry["msg"].removeprefix("Value error, ")  # pydantic's prefix for the errors of validators
        other = own if kind == HASH_RULE else f"{own}, got {_quote(value)}"
        yield route, _describe(kind, route, value, entry.get("ctx") or {}) or other


def _describe(kind: str, route: Location, value: object, limits: Json) -> str:
    """Return the message for a wrong type or a limit in the words of JSON and YAML, or ""."""
    is_size = bool(route) and route[-1] in {"size", "disk"}
    if noun := _TYPE_NOUNS.get(kind):
        of_mib = " of MiB" if is_size and kind == "int_type" else ""
        return f"must be {noun}{of_mib}, got {type_name(value)}"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"must be {words} {limits[bound]}{' MiB' if is_size else ''}, got {_quote(value)}"
    if kind == "string_too_short":
        return f"must have at least {limits['min_length']} characters"
    if kind == "literal_error":
        got = "" if isinstance(value, str) else f", got {type_name(value)}"
        return f"must be {limits['expected']}{got}"
    return MISSING if kind == "missing" else ""


def _quote(value: object) -> str:
    """A number, or a text that looks like one or like an address; of any other value its type."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return text if len(text := str(value)) <= _LONGEST_NUMBER else f"{text[:_LONGEST_NUMBER]}…"
    is_plain = isinstance(value, str) and _NUMBERS.fullmatch(value)
    return f"'{value}'" if is_plain else type_name(value)


def _join_path(path: str, route: Location) -> str:
    return ".".join([path, *map(str, route)])
