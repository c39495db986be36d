"""The definition of configuration keys, and the parsers of their values; an error names the key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, overload

from bosh_aws_cpi.errors import InvalidCall, not_correct
from bosh_aws_cpi.jsontext import Json, encode, is_integer, is_true, type_name
from bosh_aws_cpi.log import warn_of_text
from bosh_aws_cpi.records import Generic, Record, T

SENDABLE: Final = "[!-~]+"
ROLE_ARN: Final = r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[!-~]+"
EXTERNAL_ID: Final = r"[A-Za-z0-9_+=,.@:/-]{2,1224}"
"""What STS accepts (API model, externalIdType)."""
_LABEL: Final = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_HOST_NAME: Final = rf"{_LABEL}(?:\.{_LABEL})*\.?"
_IPV6: Final = r"\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?)\]"
_HOST: Final = rf"(?:(?P<name>{_HOST_NAME})|{_IPV6})"
_URL: Final = rf"(?i:https?)://(?:[^\[\]/?#\\]*@)?{_HOST}(?::(?P<port>[0-9]{{0,5}}))?(?:[/?#].*)?"
"""Not compiled, because few configurations have endpoints; not `urllib.parse`, which takes longer to load."""
_MAX_PORT: Final = 65535
_MAX_HOST_LENGTH: Final = 253  # RFC 1035, 2.3.4: 255 octets, with the length of each label


class Key(Record, Generic[T]):
    """A key of cpi.json, defined as a class attribute of its `Section`."""

    kind: Callable[[object, Key[Any]], T]
    """The function that checks and converts the value, from this module or from the section's module."""
    description: str
    """The description for the documentation and the job's spec."""
    default: Any = None
    """The value if the key is absent."""
    choices: tuple[T, ...] = ()
    is_required: bool = False
    """Whether the configuration is invalid without the key."""
    is_secret: bool = False
    """Whether logs must not show the value."""
    is_new: bool = False
    """Whether the Ruby CPI does not know the key."""
    job: tuple[str, ...] | None = None
    """The properties of the job from which the key comes; None for the property of the same name."""
    is_required_by_job: bool = False
    """Whether the job's templates fail to render without the property."""
    job_default: object = None
    """The default in the job's spec; without a default, the job omits the key or sets it to null."""
    example: object = None
    """An example of the value, for the job's spec."""
    path: str = ""
    """The dotted path below ``cloud.properties``; the section sets it."""

    @overload
    def __get__(self, section: None, kind: type) -> Self: ...
    @overload
    def __get__(self, section: Section, kind: type) -> T: ...
    def __get__(self, section: Section | None, kind: type) -> object:
        """Return the key itself, for the class of the section; the instance's attribute holds the value."""
        return self

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def shown(self) -> str:
        """The name in messages, which has colons, as in the Ruby release, unless the key is new."""
        return self.path if self.is_new else self.path.replace(".", ":")

    def read(self, section: Json) -> T:
        """Return the key's value in a section of cpi.json, checked and converted.

        Raises:
            InvalidCall: The value is wrong; the message names the key.
        """
        return self.kind(section.get(self.name, self.default), self)


class NewKey(Key[T]):
    """A key that the Ruby CPI does not know."""

    is_new: bool = True


class Section(Record):
    """A hash of cpi.json: the class has a `Key` for each key, and the instance has the values.

    The class's ``rows`` are the keys by name, in the order of the documentation.
    """

    if TYPE_CHECKING:  # an annotation that is executed would be a field
        rows: ClassVar[dict[str, Key[Any]]]

    def __init_subclass__(cls, path: str = "") -> None:
        super().__init_subclass__()
        cls.rows = {name: each for name, each in vars(cls).items() if isinstance(each, Key)}
        for name, key in cls.rows.items():
            key.__dict__["path"] = f"{path}.{name}" if path else name
        cls._fields = (*dict.fromkeys([*cls._fields, *cls.rows]),)
        cls._known |= cls.rows.keys()

    @classmethod
    def read(cls, section: Json, **others: object) -> Self:
        """Read the values of all keys.

        Args:
            section: The hash.
            others: The values of the fields that are no keys.

        Raises:
            InvalidCall: A value is wrong; the message names the key.
        """
        get = section.get
        read = {name: key.kind(get(name, key.default), key) for name, key in cls.rows.items()}
        return cls(**read, **others)


def sub_object(parent: Json, key: str, name: str | None = None) -> Json:
    """The section below a key; empty if the key is absent or null.

    Args:
        parent: The section that has the key.
        name: The name of the key in messages; None for ``key``.

    Raises:
        InvalidCall: The value is not an object.
    """
    return _object(parent.get(key), name or key)


def anything(value: object, _: Key[Any]) -> object:
    """Any value, unchanged: another module or the agent checks it."""
    return value


def string(value: object, key: Key[Any]) -> str | None:
    """A string; None for null and the empty string."""
    if value is not None and not isinstance(value, str):
        raise wrong_type(key.shown, "a string", value)
    return value or None


def sendable(value: object, key: Key[Any]) -> str | None:
    """A string that the headers of a request can carry; None for null and the empty string."""
    given = string(value, key)
    if given is None or is_sendable(given):
        return given
    remedy = "write the value on one line (in YAML without |), without typographic quotation marks"
    raise wrong_value(key, f"has {UNSENDABLE}: {remedy}")


UNSENDABLE: Final = "a space, a line break or another character that is not printable ASCII"


def is_sendable(text: str) -> bool:
    """Whether a text may be a key, a token or a region, which are sent in the headers of a request."""
    return re.fullmatch(SENDABLE, text) is not None


def role_arn(value: object, key: Key[Any]) -> str | None:
    """The ARN of a role, which may have a path; None for null and the empty string."""
    given = sendable(value, key)
    if given is None or re.fullmatch(ROLE_ARN, given):
        return given
    raise wrong_value(key, "must be the ARN of a role, such as arn:aws:iam::123456789012:role/NAME")


_PARTITIONS: Final = (
    ("cn-", "aws-cn"),
    ("us-gov-", "aws-us-gov"),
    ("us-iso-", "aws-iso"),
    ("us-isob-", "aws-iso-b"),
    ("eu-isoe-", "aws-iso-e"),
    ("us-isof-", "aws-iso-f"),
    ("eusc-", "aws-eusc"),
)
"""Beginnings of regions' names with their partition, if not `aws` (botocore, data/partitions.json)."""


def partition(region: str) -> str:
    """The partition of a region."""
    return next((name for start, name in _PARTITIONS if region.startswith(start)), "aws")


def fill_region(text: str, region: str) -> str:
    """Replace REGION in a text by a region, and PARTITION by the region's partition."""
    return text.replace("REGION", region).replace("PARTITION", partition(region))


def region(value: object, key: Key[Any]) -> str:
    """The name of a region, perhaps of a new region, but not of a zone; empty for null."""
    given = sendable(value, key) or ""
    if re.fullmatch(r"[a-z]+(-[a-z]+)+-\d+[a-z]", given):
        raise wrong_value(key, f"must be a region: '{given}' is a zone of {given[:-1]}")
    return given


def log_file(value: object, key: Key[Any]) -> str | None:
    """An absolute path; None for null, false and the empty string."""
    if value is None or value is False or value == "":
        return None
    if not isinstance(value, str):
        raise wrong_type(key.shown, "an absolute path", value)
    if not value.startswith("/"):
        raise wrong_value(key, "must be an absolute path")
    return value


def external_id(value: object, key: Key[Any]) -> str | None:
    """An external id that STS accepts; None for null and the empty string."""
    given = string(value, key)
    if given is None or re.fullmatch(EXTERNAL_ID, given):
        return given
    raise wrong_value(key, "must have 2 to 1224 letters, digits and _+=,.@:/-")


def strings(value: object, key: Key[Any]) -> list[str]:
    """A list of strings; an empty list for null."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise wrong_type(key.shown, "a list of strings", value)
    return value


def boolean(value: object, key: Key[Any]) -> bool:
    """True or false; false for null. For a key that the Ruby CPI knows, any other value counts as true."""
    if key.is_new and not (value is None or isinstance(value, bool)):
        raise wrong_type(key.shown, "true or false", value)
    warn_of_text(key.path, value)
    return is_true(value)


def whole_number(value: object, key: Key[Any]) -> int:
    """A whole number, 0 or more."""
    if not is_integer(value) or value < 0:
        raise wrong_type(key.shown, "a whole number, 0 or more", value)
    return value


def optional_choice(value: object, key: Key[T]) -> T | None:
    """One of the choices; None for null."""
    if value is None:
        return None
    for choice in key.choices:
        if type(value) is type(choice) and value == choice:
            return choice
    *others, last = (each if isinstance(each, str) else encode(each) for each in key.choices)
    expected = f"{', '.join(others)} or {last}" if others else last
    if is_integer(value):
        raise wrong_value(key, f"must be {expected}, got {value}")
    raise wrong_type(key.shown, expected, value)


def contract_version(value: object, key: Key[int]) -> int:
    """A contract version; the newest version for null and for later versions."""
    newest = max(key.choices)
    if value is None:
        return newest
    if not is_integer(value) or value < 1:
        raise wrong_type(key.shown, "1, 2 or 3", value)
    return min(value, newest)


def one_of(value: object, key: Key[T]) -> T:
    """One of the choices; the default for null, the empty string and any other falsy value."""
    given = value or key.default
    for choice in key.choices:
        if given == choice:
            return choice
    first, *others = map(str, key.choices)
    expected = f"{first} or {others[0]}" if len(others) == 1 else f"one of {', '.join([first, *others])}"
    raise wrong_type(key.shown, expected, given)


def json_object(value: object, key: Key[Any]) -> Json:
    """An object; an empty object for null."""
    return _object(value, key.shown)


def https_url(value: object, key: Key[Any]) -> str | None:
    """An endpoint of AWS as a URL, by default with https; None for null and the empty string.

    The host must not have an underscore: the SDK refuses that (botocore.utils.is_valid_endpoint_url).
    """
    given = _endpoint(value, key, "_")
    return with_scheme(given, "https") if given else None


def endpoint(value: object, key: Key[Any]) -> str | None:
    """An endpoint, unchanged: host, host:port or URL; None for null and the empty string."""
    return _endpoint(value, key, "")


def with_scheme(given: str, scheme: str) -> str:
    """An endpoint as a URL, with this scheme if the endpoint has none."""
    return given if "://" in given else f"{scheme}://{given}"


def _endpoint(value: object, key: Key[Any], refused: str) -> str | None:
    given = string(value, key)
    if given and not (given.isprintable() and _is_url(with_scheme(given, "http"), refused)):
        host = "a host" + (" without underscores" if refused and refused in given else "")
        raise wrong_value(key, f"must be {host}, host:port or http(s) URL")
    return given


def _object(value: object, name: str) -> Json:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong_type(name, "an object", value)
    return value


def _is_url(text: str, refused: str) -> bool:
    url = re.fullmatch(_URL, text)
    if url is None or not 1 <= int(url["port"] or 1) <= _MAX_PORT:
        return False
    name = (url["name"] or "").removesuffix(".")
    if len(name) > _MAX_HOST_LENGTH or (refused and refused in name):
        return False
    return url["ipv6"] is None or _is_ipv6(url["ipv6"])


def _is_ipv6(text: str) -> bool:
    from ipaddress import IPv6Address  # noqa: PLC0415 - few endpoints are addresses of IPv6

    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def wrong_value(key: Key[Any], what: str) -> InvalidCall:
    """The error for a wrong value.

    Args:
        what: A predicate whose subject is the key.
    """
    return not_correct(f"configuration parameter {key.shown} {what}")


def wrong_type(name: str, expected: str, value: object) -> InvalidCall:
    """The error for a value of the wrong type; it does not quote the value, which may be a secret."""
    return not_correct(f"configuration parameter {name} must be {expected}, got {type_name(value)}")
