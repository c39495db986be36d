"""The console: answers lines, says what is wrong with bad ones, and ends leaving nothing."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from bosh_aws_cpi.config.cpi_config import KEYS
from testbed.demo_process import Program
from testbed.demo_text import SECRETS

INTRODUCED = "  create_vm "
LINES = r"""info
create_disk 1024 {"type": "gp2"}

no_such_method "x"
has_vm i-123
???
{"method": "ping", "arguments": [], "context": {"director_uuid": "me"}}
{"method"
state
throttle on
fault {"action": "DescribeInstances", "error": {"code": "UnauthorizedOperation", "message": "Not you."}}
has_vm "i-0123456789abcdef0"
faults clear
has_vm "i-0123456789abcdef0"
throttle off
fault {"action": "DescribeInstances", "when": "never"}
fault "DescribeInstances"
faults
help
check {file}
diagnose "i-0123456789abcdef0"
check "{file}
quit
"""


def documents(text: str) -> list[Any]:
    """Read all JSON documents that begin at the beginning of a line."""
    decoder = json.JSONDecoder()
    starts = [match.start() for match in re.finditer(r"^\{(?!\"method)", text, re.MULTILINE)]
    return [decoder.raw_decode(text, start)[0] for start in starts]


def test_piped_lines() -> None:
    """Through a pipe the console answers each line, also bad ones, and runs the operators' commands."""
    with Program("testbed.console") as console:
        introduction = "\n".join(console.read_until(INTRODUCED))
        named = dict(re.findall(r"^  (AWS|cpi\.json|check) +(\S+)$", introduction, re.MULTILINE))
        given = json.loads(Path(named["cpi.json"]).read_text())["cloud"]["properties"]["aws"]
        (invocation,) = re.findall(r"^  (echo .*)$", introduction, re.MULTILINE)
        called = subprocess.run(["/bin/sh", "-c", invocation], capture_output=True, check=True)
        text, stderr, status = console.finish(LINES.replace("{file}", named["check"]))
        assert (stderr, status, console.left()) == ("", 0, [])
    info, disk, unknown, ping, malformed, state, denied, absent = documents(text)
    assert json.loads(called.stdout) == info
    assert info["result"]["stemcell_formats"] == ["aws-raw", "aws-light"]
    assert state["volumes"] == [disk["result"]]
    assert unknown["error"]["message"] == "Method is not known, got: 'no_such_method'"
    assert ping["result"] == "pong"
    assert malformed["error"]["type"] == "InvalidCall"
    assert "UnauthorizedOperation: Not you." in denied["error"]["message"]
    assert absent["result"] is False
    assert re.search(r"^stderr: .*Finished info in", text, re.MULTILINE)
    assert re.findall(r"^Bad line: (.{15})", text, re.MULTILINE) == [
        "an argument is ",
        "this is no rule",
        "this is no rule",
        "it is one of: c",
        "the CPI could n",
    ]
    assert "\nMETHOD [ARGUMENT ...]" in text
    assert re.findall(r"^exit status (\d)$", text, re.MULTILINE) == ["1", "2"]
    for part in (
        "\n2 errors, 1 warning, 1 note, 0 not checked",
        "VM `i-0123456789abcdef0' not found",
    ):
        assert part in text
    endpoints = {key.path.removeprefix("aws.") for key in KEYS if re.fullmatch(r"aws\..*_endpoint", key.path)}
    assert endpoints
    assert {name: given.get(name) for name in endpoints} == dict.fromkeys(endpoints, named["AWS"])
    assert "\033" not in introduction + text
    assert [secret for secret in SECRETS if secret in introduction + text] == []


def test_terminal() -> None:
    """In a terminal the console prompts; what it prints can be used as it is; a signal ends all."""
    ours, its = os.openpty()
    with Program("testbed.console", stdin=its) as console:
        os.close(its)
        lines = console.read_until(INTRODUCED)
        os.write(ours, f"{lines[-1].strip()}\n".encode())
        answer = console.read_until("}")
        console.signal(signal.SIGTERM)
        _, stderr, status = console.finish()
        os.close(ours)
        assert (stderr, status) == ("\nInterrupted. All that was started has ended.\n", 128 + signal.SIGTERM)
        assert console.left() == []
    vm_cid, networks = documents("\n".join(answer))[0]["result"]
    assert vm_cid.startswith("i-")
    assert networks["private"]["ip"] == "10.0.1.10"
    assert any("cpi> " in line for line in answer)
