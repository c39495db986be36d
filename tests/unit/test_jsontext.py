"""JSON as every other program reads it."""

import json

import pytest

from bosh_aws_cpi import jsontext
from bosh_aws_cpi.jsontext import JsonTextError


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"null", None),
        (b' {"a": [1, 1.5, true, "x"]}\n', {"a": [1, 1.5, True, "x"]}),
        ('{"ü": "😀"}'.encode(), {"ü": "😀"}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\\\\ud83d"', "\\ud83d"),
        (b'{"a": {"x": 1}, "b": {"x": 1}}', {"a": {"x": 1}, "b": {"x": 1}}),
        (b"-0.0", 0.0),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_decode(raw: bytes, expected: object) -> None:
    """JSON is read as it stands."""
    assert jsontext.decode(raw) == expected


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "Expecting value"),
        (b'{"a": 1} {}', "Extra data"),
        (b'{"a": hunter2}', "Expecting value"),
        (b'"hunter2\\q"', "Invalid"),
        (b'"hunter2\t"', "Invalid control character"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
        (b'"hunter2\xff"', "not UTF-8: invalid start byte at byte 8"),
        (b"\xef\xbb\xbf{}", "Unexpected UTF-8 BOM"),
        (b"[NaN]", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"[-1e309]", "a number is too large"),
        (b"1" * 5000, "4300 digits"),
        (b'[{"b": {"a": 1, "\\u0061": "hunter2"}}]', "an object has the same key twice"),
        (b'{"\\udE00": 1}', "a string contains half a surrogate pair"),
        (b'["\\ude00\\ud83d"]', "a string contains half a surrogate pair"),
        (b"[" * 200_000, "nested deeper than 100 levels"),
    ],
    ids=lambda each: repr(each)[:20],
)
def test_no_json(raw: bytes, reason: str) -> None:
    """What other programs would refuse, or read differently, is refused; the reason quotes nothing secret."""
    with pytest.raises(JsonTextError, match=reason) as caught:
        jsontext.decode(raw)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(("before", "inner", "after"), [("[", "1", "]"), ('{"a":', "1", "}"), ("[", "", "]")])
def test_depth(before: str, inner: str, after: str) -> None:
    """A hundred levels are read and written again, one more is refused."""
    whole = before * 100 + inner + after * 100
    assert jsontext.encode(jsontext.decode(whole.encode())) == whole
    with pytest.raises(JsonTextError, match="nested deeper than 100 levels"):
        jsontext.decode((before + whole + after).encode())


def test_many_openings() -> None:
    """A broad document may have as many objects as it likes."""
    broad = [{"a": [i]} for i in range(300)]
    assert jsontext.decode(json.dumps(broad).encode()) == broad


@pytest.mark.parametrize(
    ("ascii_only", "expected"), [(False, '{"ü":[1,null]}'), (True, '{"\\u00fc":[1,null]}')]
)
def test_encode(expected: str, *, ascii_only: bool) -> None:
    """JSON is written on one line without blanks, in ASCII when asked for."""
    assert jsontext.encode({"ü": [1, None]}, ascii_only=ascii_only) == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_encode_no_number(value: float) -> None:
    """NaN and infinity are never written."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsontext.encode([value])


def test_type_names() -> None:
    """Types are called as BOSH's documents call them."""
    values: list[object] = [None, True, 1, 1.5, "a", [], {}, ()]
    names = ["null", "Boolean", "Integer", "Float", "String", "Array", "Hash", "tuple"]
    assert list(map(jsontext.type_name, values)) == names
