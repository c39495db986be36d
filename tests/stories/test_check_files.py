"""`cpi check` with files as people write them: right ones, several, with variables, and broken ones."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import terminal
from testbed.executable import ABSENT, SERVICES, Answer, Cpi, config
from tests.stories.right_configs import CREATE_ENV, OWN, RIGHT, SPECIAL_NETWORKS, UNKNOWN, with_networks


@pytest.fixture
def run(cpi: Cpi, tmp_path: Path) -> Callable[..., Answer]:
    """Return a function that checks texts, and returns the command's answer."""

    def checked(*texts: str | bytes, arguments: tuple[str, ...] = ()) -> Answer:
        paths = []
        for index, text in enumerate(texts):
            path = tmp_path / f"file-{index}.yml"
            path.write_bytes(text.encode() if isinstance(text, str) else text)
            paths.append(str(path))
        return cpi.run("check", *paths, "--offline", "--json", *arguments)

    return checked


@pytest.fixture
def check(run: Callable[..., Answer]) -> Callable[..., list[dict[str, Any]]]:
    """Return a function that checks texts, and returns the findings."""

    def checked(*texts: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = run(*texts).document["findings"]
        return found

    return checked


@pytest.mark.parametrize("name", RIGHT)
def test_right(check: Callable[..., list[dict[str, Any]]], name: str) -> None:
    """A right file has no findings."""
    assert check(*RIGHT[name]) == []


@pytest.mark.parametrize("name", UNKNOWN)
def test_variables(check: Callable[..., list[dict[str, Any]]], name: str) -> None:
    """Each variable is named once, with its place; nothing is said of values that are not known."""
    found = check(UNKNOWN[name])
    assert {each["severity"] for each in found} == {"not checked"}
    named = [each["what"].split(" is a variable")[0] for each in found]
    assert (
        len(named) == len(set(named)) == len({part.split("))")[0] for part in UNKNOWN[name].split("((")[1:]})
    )
    lines = UNKNOWN[name].splitlines()
    assert all(variable in lines[each["line"] - 1] for variable, each in zip(named, found, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!python/object/apply:os.system [ls]", "is not valid YAML"),
        ("a: .inf", "a number must be finite"),
        ("a: 0x_", ":1 is not valid YAML: a value can't be read as !!int"),
        ("a: !!binary aGVsbG8=", "marked !!binary"),
        ("{[a]: b}", "a key must be a string"),
        (f"a: {'1:' * 200}1.0", ":1 can't be read: a number has more than 300 characters"),
        (f"a: {'x' * 5_000_000}", "it is larger than 4 MiB"),
        ("a: {<<: b}", ":1 is not valid YAML: expected a mapping or list of mappings for merging"),
        (f"[{'1,' * 200_000}]", "it has more than 100000 values"),
        (b"\x00\xff\xfe\x00binary\x00", "is not valid YAML"),
        ("[" * 5_000, ":1 can't be read: it is nested deeper than 100 levels"),
        ("a: &a [*a]", "its aliases (*NAME) stand for more than 100000 values"),
        (
            "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]" for n in range(9)),
            "stand for more than 100000 values",
        ),
        ("instance_groups: []", "name it after --manifest"),
        ('{"Tables": [{"Content": "config", "Rows": [{"content": "azs: []"}]}]}', "save the content only"),
    ],
)
def test_unreadable(run: Callable[..., Answer], text: str | bytes, said: str) -> None:
    """A file that can't be read ends the check with status 2, and a message that names it."""
    answer = run(text)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert said in answer.stderr
    assert "file-0.yml" in answer.stderr
    assert "Traceback" not in answer.stderr


WITHOUT_LIBYAML = """
import sys
sys.modules["yaml._yaml"] = None
from bosh_aws_cpi import __main__
__main__.run()
"""


@pytest.mark.parametrize("text", [OWN, "a: !!binary aGVsbG8="])
def test_without_libyaml(run: Callable[..., Answer], tmp_path: Path, text: str) -> None:
    """With a PyYAML that has no C extension the check says the same."""
    expected = run(text)
    bare = Cpi(config("http://127.0.0.1:1"), command=[sys.executable, "-c", WITHOUT_LIBYAML])
    answer = bare.run("check", str(tmp_path / "file-0.yml"), "--offline", "--json")
    said = answer.returncode, answer.stdout, answer.stderr
    assert said == (expected.returncode, expected.stdout, expected.stderr)


NOT_YAML = [
    ("a:\n\tb: 1\n", 2, "found character that cannot start any token"),
    ("a: 1\nb: 'c\nd: 2\n", 4, "found unexpected end of stream"),
    ("a:\n  azs: [z1, z2\n  b: 1\nc: 2\n", 3, "did not find expected"),
    ("a: 1\nb: c: 1\n", 2, "mapping values are not allowed in this context"),
    ("a: b\n---\na: c\n", 2, "but found another document"),
    ("a: 1\nb: gr\xf6\xdfer\n".encode("latin-1"), 2, "is not valid YAML"),
]
"""Files that are no YAML: the line that libyaml names, and its words."""


@pytest.mark.parametrize(("text", "line", "said"), NOT_YAML)
def test_not_yaml(run: Callable[..., Answer], text: str | bytes, line: int, said: str) -> None:
    """What is wrong is said in the words of libyaml, with the line that it names."""
    answer = run(text)
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert f"file-0.yml:{line} is not valid YAML: " in answer.stderr
    assert said in answer.stderr


@pytest.mark.parametrize(
    "text",
    [
        "{password: hunter7hunter7, @a}",
        "password: hunter7hunter7: hunter7hunter7",
        "password: *hunter7hunter7",
    ],
)
def test_unreadable_secret(run: Callable[..., Answer], text: str) -> None:
    """What is said of a file that can't be read never quotes it: it may contain secrets."""
    answer = run(text)
    assert answer.returncode == 2
    assert " is not valid YAML: " in answer.stderr
    assert "hunter7" not in answer.stderr


@pytest.mark.parametrize("tags", ["{5: x}", "{a: 2026-01-01}"])
def test_values_of_json(check: Callable[..., list[dict[str, Any]]], tags: str) -> None:
    """Keys and dates are strings, as in the JSON that the Director sends."""
    tagged = f"{{instance_type: m5.large, tags: {tags}}}"
    whole = with_networks(SPECIAL_NETWORKS).replace("{instance_type: m5.large}", tagged)
    assert (
        check(f"{whole}disk_types: [{{name: a, disk_size: 5120, cloud_properties: {{tags: {tags}}}}}]") == []
    )


def test_as_bosh_reads_it(check: Callable[..., list[dict[str, Any]]]) -> None:
    """YAML is read with libyaml, as BOSH does: PyYAML's own parser refuses a tab after a colon."""
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load("a:\tb")
    assert check(OWN.replace("type: manual", "type:\tmanual")) == []


@pytest.mark.parametrize("text", ["- {value: {name: ((x))}}", "[((x)), [1]]", "((x))"])
def test_list_with_variables(run: Callable[..., Answer], text: str) -> None:
    """A list, such as a file of operations, is no cloud config, also if it has variables."""
    answer = run(text)
    found = {each["severity"]: each["what"] for each in answer.document["findings"]}
    assert answer.returncode == 1
    assert found["error"].startswith("is not a hash: it must be a hash with azs")
    assert found["not checked"].startswith("((x)) is a variable")


@pytest.mark.parametrize("command", ["check", "preflight"])
def test_unknown_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """A region that is not known, and where AWS does not answer, ends a command with the nearest one."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    path = tmp_path / "file.yml"
    path.write_text(OWN)
    endpoints: dict[str, Any] = {f"{service}_endpoint": ABSENT for service in SERVICES}
    cpi = Cpi(config("http://localhost", region="us-esat-1", **endpoints))
    answer = cpi.run(command, *([str(path)] if command == "check" else []))
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert "aws.region 'us-esat-1' is not a known region, and " in answer.stderr
    assert answer.stderr.endswith(" does not answer: did you mean us-west-1 or us-east-1?\n")


@pytest.mark.parametrize(
    ("old", "new", "severity", "status"),
    [
        ("", "", None, (0, 0)),
        ("workers: 5", "workers: 5\n  worker: 5", "warning", (0, 1)),
        ("workers: 5", "workers: ((workers))", "not checked", (0, 1)),
        ("workers: 5", "workers: many", "error", (1, 1)),
    ],
)
def test_strict(
    run: Callable[..., Answer], old: str, new: str, severity: str | None, status: tuple[int, int]
) -> None:
    """With --strict, warnings and what is not checked fail, too."""
    text = OWN.replace(old, new)
    answers = [run(text), run(text, arguments=("--strict",))]
    assert tuple(each.returncode for each in answers) == status
    for answer in answers:
        assert [each["severity"] for each in answer.document["findings"]] == ([severity] if severity else [])


def test_unknown_configuration_keys(tmp_path: Path) -> None:
    """A configuration key that does not exist is a warning with the nearest one."""
    whole = config("http://localhost", regoin="eu-west-1", default_keyname="bosh", zzz=1)
    whole["cloud"]["properties"] |= {"registri": {}, "debug": {"cpi": {"log_levl": "debug"}}}
    path = tmp_path / "file.yml"
    path.write_text(OWN)
    answer = Cpi(whole).run("check", str(path), "--offline", "--json")
    found = answer.document["findings"]
    assert [(each["severity"], each["path"], each["remedy"], each["file"]) for each in found] == [
        ("warning", "registri", "Did you mean registry?", None),
        ("warning", "aws.regoin", "Did you mean region?", None),
        ("warning", "aws.default_keyname", "Did you mean default_key_name?", None),
        ("warning", "aws.zzz", "Remove it", None),
        ("warning", "debug.cpi.log_levl", "Did you mean log_level?", None),
    ]
    assert answer.stderr == ""
    without = Cpi(config("http://localhost", region=ABSENT, ec2_endpoint=ABSENT, regoin="eu-west-1"))
    answer = without.run("check", str(path), "--offline")
    assert answer.returncode == 2
    assert "missing configuration parameters > aws:region" in answer.stderr
    assert "aws.regoin (did you mean region?)" in answer.stderr


def test_named_like_a_secret(cpi: Cpi, tmp_path: Path) -> None:
    """An unknown key that is named like a secret is shown; its value is not."""
    path = tmp_path / "file.yml"
    path.write_text(OWN.replace("m5.large", "m5.large\n    password: hunter7hunter7"))
    answer = cpi.run("check", str(path), "--offline")
    assert "cloud_properties/password: 'password' is unknown and ignored" in answer.stdout.decode()
    assert "hunter7" not in answer.stdout.decode()


def test_quoted_boolean(cpi: Cpi, tmp_path: Path) -> None:
    """A boolean in quotation marks is one finding: what the methods log for each VM is not printed, too."""
    path = tmp_path / "file.yml"
    path.write_text(OWN.replace("m5.large", 'm5.large\n    source_dest_check: "false"'))
    answer = cpi.run("check", str(path), "--offline")
    assert answer.stdout.count(b"any string counts as true. Remove the quotation marks") == 1
    assert answer.stderr == ""


def test_no_stemcell(run: Callable[..., Answer]) -> None:
    """A stemcell's CID that can be none is refused."""
    answer = run(OWN, arguments=("--stemcell", ""))
    assert answer.returncode == 2
    assert "is not a stemcell's CID" in answer.stderr


def test_device(cpi: Cpi) -> None:
    """What never ends is not read."""
    answer = cpi.run("check", "/dev/zero", "--offline")
    said = "cpi: '/dev/zero' can't be read: it is neither a file nor a pipe\n"
    assert (answer.returncode, answer.stderr) == (2, said)


def test_stdin(cpi: Cpi, tmp_path: Path) -> None:
    """A hyphen stands for stdin, in place of any one file."""
    wrong = OWN.replace("m5.large", "m5.large\n    tame: 1").encode()
    found = cpi.run("check", "-", "--offline", "--json", stdin=wrong).document
    assert (found["files"], [each["file"] for each in found["findings"]]) == (["-"], ["-"])
    (tmp_path / "config.yml").write_text(OWN)
    arguments = (str(tmp_path / "config.yml"), "--manifest", "-", "--offline")
    assert "cpi: '-' can't be read: it is larger than 4 MiB" in (
        cpi.run("check", *arguments, stdin=b"x" * (5 << 20)).stderr
    )
    twice = cpi.run("check", "-", "--manifest", "-", "--offline", stdin=wrong)
    assert (twice.returncode, twice.stdout, twice.stderr) == (
        2,
        b"",
        "cpi: stdin, -, can be read only once: give the other files by their paths\n",
    )


def test_terminal_as_file(cpi: Cpi) -> None:
    """A terminal is no file: the check does not wait for what nobody types."""
    command = [str(Path(sys.executable).parent / "cpi"), "check", str(cpi.config_path), "-", "--offline"]
    answer = terminal.run(command, {}, cpi.folder, streams=["stdin"])
    said = "cpi: '-' can't be read: it is neither a file nor a pipe\n"
    assert (answer.returncode, answer.stdout, answer.stderr) == (2, b"", said)


def test_socket(cpi: Cpi) -> None:
    """Stdin may be a socket, as some programs that start others make it."""
    near, far = socket.socketpair()
    with near, far:
        near.sendall(OWN.encode())
        near.shutdown(socket.SHUT_WR)
        command = [str(Path(sys.executable).parent / "cpi"), "check", str(cpi.config_path), "-", "--offline"]
        answer = subprocess.run(command, stdin=far.fileno(), capture_output=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, b"")


def test_absent_file(cpi: Cpi) -> None:
    """A file that is missing ends the check with status 2."""
    answer = cpi.run("check", "/nowhere/cloud-config.yml", "--offline")
    assert (answer.returncode, answer.stderr) == (
        2,
        "cpi: '/nowhere/cloud-config.yml' can't be read: No such file or directory\n",
    )


@pytest.mark.parametrize("text", ["", "[1, 2]"])
def test_no_hash(check: Callable[..., list[dict[str, Any]]], text: str) -> None:
    """A file that holds no hash is an error at its beginning."""
    found = check(text)
    assert [(each["severity"], each["path"], each["source"]) for each in found] == [("error", "", "Director")]


def test_create_env_alone(run: Callable[..., Answer]) -> None:
    """A manifest for create-env can't be merged with other files."""
    answer = run(CREATE_ENV, OWN)
    assert answer.returncode == 2
    assert "check it alone" in answer.stderr


def test_repeated_key(check: Callable[..., list[dict[str, Any]]]) -> None:
    """A key that a hash has twice is a warning at the second one."""
    more = "disk_types: [{name: disk, disk_size: 1024, disk_size: 2048}]\nazs: [{name: z1}]\n"
    text = with_networks(SPECIAL_NETWORKS) + more
    found = [each for each in check(text) if "twice" in each["what"]]
    last = len(text.splitlines())
    assert [(each["severity"], each["path"], each["line"]) for each in found] == [
        ("warning", "disk_types/disk/disk_size", last - 1),
        ("warning", "azs", last),
    ]


def test_shared_value(check: Callable[..., list[dict[str, Any]]]) -> None:
    """A mistake in a value that several entries share is one finding; the same mistake in each is several."""
    disk = "{size: 10240, iops: 90000}"
    types = [
        f"- {{name: vm{n}, cloud_properties: {{instance_type: m5.large, ephemeral_disk: DISK}}}}"
        for n in "abc"
    ]
    text = (
        with_networks(SPECIAL_NETWORKS)
        .replace("vm_types: [", "vm_types:\n- ", 1)
        .replace("m5.large}}]", "m5.large}}")
    )
    text = text.replace("compilation:", "\n".join([*types, "compilation:"]))
    anchored = f"x-disk: &disk {disk}\n{text.replace('DISK', '*disk')}"
    assert [(each["severity"], each["line"]) for each in check(anchored)] == [("error", 1)]
    assert len(check(text.replace("DISK", disk))) == 3


def test_anchor(check: Callable[..., list[dict[str, Any]]]) -> None:
    """A mistake in an anchor is found once, at the line where the value stands."""
    text = RIGHT["anchors"][0].replace("type: gp3", "type: 3")
    found = check(text)
    assert [each["line"] for each in found] == [2] * len(found)
    assert {each["path"].rpartition("/")[2] for each in found} == {"type"}
