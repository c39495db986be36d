"""What the log on stderr says, at which level, and that each of its lines is the call's own."""

import re
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import ABSENT, Answer, Cpi, config
from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

NOWHERE = "http://127.0.0.1:1"
DISK = "vol-00000000000000001"
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (?:\[req_id (?P<id>[^]]+)\] )?(?P<level>[A-Z]+): (?P<text>.*)"
)


def leveled(document: dict[str, Any], level: Any) -> dict[str, Any]:
    """Return a configuration with this log level."""
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": level}}
    return document


def lines(answer: Answer) -> list[re.Match[str]]:
    """Read the log; every line must have the shape of one."""
    found = [(line, LINE.fullmatch(line)) for line in answer.stderr.split("\n")[:-1]]
    assert [line for line, match in found if match is None] == []
    return [match for _, match in found if match]


def ids(answer: Answer) -> set[str | None]:
    """Return the request ids of the log's lines."""
    return {line["id"] for line in lines(answer)}


def test_request_id_on_each_line(fake_aws: FakeAws) -> None:
    """Each line carries the request's id, also those of a message of many lines."""
    parts = ["first", "second", "third", "2026-01-01T00:00:00.000 ERROR: fourth", "fifth"]
    message = "{}\n{}\n\n{}\u2028{}\u0085{}".format(*parts)
    fake_aws.refuse("DescribeVolumes", "UnauthorizedOperation", message, 403)
    cpi = Cpi(leveled(config(fake_aws.endpoint), "debug"))
    answer = cpi.call("has_disk", DISK, context={"request_id": "cpi-123456"})
    assert ids(answer) == {"cpi-123456"}
    texts = [line["text"] for line in lines(answer)]
    assert all(any(part in text for text in texts) for part in parts)
    assert "fourth" in answer.error["message"]


@pytest.mark.parametrize(
    ("method", "arguments", "aws"),
    [("ping", "none", {}), ("ping", [], {"max_retries": ABSENT})],
)
def test_request_id_of_a_refused_call(method: str, arguments: Any, aws: dict[str, Any]) -> None:
    """The log of a call that is refused at once carries the id too."""
    context = f'{{"director_uuid": "d", "request_id": "cpi-9"}}, "arguments": {arguments!r}'.replace("'", '"')
    answer = Cpi(config(NOWHERE, **aws)).raw(f'{{"method": "{method}", "context": {context}}}'.encode())
    assert answer.error is not None
    assert answer.error["message"] in answer.stderr
    assert ids(answer) == {"cpi-9"}


@pytest.mark.parametrize("request_id", ["x\n2026 INFO: forged", "\x1b[2Jforged", ["forged"], ""])
def test_unusable_request_id(request_id: Any) -> None:
    """A request id that can't be printed on one line, or is no string, injects nothing."""
    answer = Cpi(config(NOWHERE)).call("ping", context={"request_id": request_id})
    assert answer.ok() == "pong"
    assert ids(answer) == {None}
    assert "forged" not in answer.stderr
    assert "\x1b" not in answer.stderr


def test_starting_and_finished(fake_aws: FakeAws) -> None:
    """Each call logs its start and its end with the time it took, also when it fails."""
    cpi = Cpi(config(fake_aws.endpoint))
    answers = {"ping": cpi.call("ping"), "delete_disk": cpi.call("delete_disk", DISK)}
    assert answers["delete_disk"].error["type"] == "Bosh::Clouds::DiskNotFound"
    for method, answer in answers.items():
        texts = [line["text"] for line in lines(answer)]
        assert texts[0] == f"Starting {method}..."
        (finished,) = [text for text in texts if text.startswith("Finished")]
        found = re.match(rf"Finished {method} in (\d+\.\d+) seconds", finished)
        assert found is not None
        assert 0 < float(found[1]) * 1000 < answer.milliseconds


@pytest.mark.parametrize(
    ("level", "levels"),
    [
        ("debug", {"DEBUG", "INFO", "WARNING", "ERROR"}),
        (None, {"INFO", "WARNING", "ERROR"}),
        ("error", {"ERROR"}),
    ],
)
def test_level(fake_aws: FakeAws, level: Any, levels: set[str]) -> None:
    """debug.cpi.log_level says which lines there are; it is info when nothing is said."""
    cpi = Cpi(leveled(config(fake_aws.endpoint), level))
    answer = cpi.call("create_disk", 1024, {"typo": 1}, "i-00000000000000001")
    assert answer.error["type"] == "Bosh::Clouds::VMNotFound"
    assert {line["level"] for line in lines(answer)} == levels


def test_each_aws_call(world: World, fake_aws: FakeAws) -> None:
    """At debug level each call of AWS is logged, and what it was answered; the role's too."""
    role = "arn:aws:iam::123456789012:role/cpi"
    cpi = Cpi(leveled(config(fake_aws.endpoint, role_arn=role), "debug"))
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    answer = cpi.call("create_vm", "agent", world.image_id, properties, networks, [], {}, stemcell=2)
    answer.ok()
    texts = [line["text"] for line in lines(answer) if line["level"] == "DEBUG"]
    asked = [match[1] for text in texts if (match := re.match(r"AWS \w+\.(\w+) \{", text))]
    answered = [match[1] for text in texts if (match := re.match(r"AWS \w+\.(\w+) answered 200 ", text))]
    assert sorted(asked) == sorted(answered) == sorted(fake_aws.actions())
    assert "AssumeRole" in asked
    assert world.image_id in "".join(texts)


NOTHING: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("aws", "context", "said"),
    [
        (NOTHING, {"default_keyname": "bosh"}, "aws.default_keyname (did you mean default_key_name?)"),
        ({"region": ABSENT, "ec2_endpoint": ABSENT, "regoin": "x"}, NOTHING, "mean region?"),
        ({f"k{n:02}": 1 for n in range(40)}, NOTHING, "aws.k19, and others"),
        ({"encryptd": True}, NOTHING, "aws.encryptd (did you mean encrypted?)"),
        ({"region": ABSENT, "x" * 70_000: 1}, {"region": "x", "hunter7 " * 9: 1}, "a key that is not a name"),
        ({"stemcell": {"more": 1}, "connection_options": {}}, {"of_later_directors": 1, "region": "x"}, ""),
    ],
)
def test_unknown_keys(aws: dict[str, Any], context: dict[str, Any], said: str) -> None:
    """A key that does not exist is ignored, with one warning that names the nearest one.

    Of the context's keys only those count that are near to one of the configuration: Directors may add some.
    """
    answer = Cpi(config(NOWHERE, **aws)).call("info", context=context)
    assert (answer.error is None) == (not {"regoin", "encryptd"} & aws.keys())
    warnings = [line["text"] for line in lines(answer) if line["level"] == "WARNING"]
    assert len(warnings) == bool(said)
    assert all(said in text for text in warnings)
    assert "hunter7" not in answer.stderr
