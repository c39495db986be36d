"""A simulated AWS to call the CPI on by hand: `python -m testbed.console`."""

import argparse
import cmd
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from bosh_aws_cpi.tools.command_line import COMMANDS
from testbed.demo import cloud_config, network
from testbed.demo_stage import Stage, main_status, staged
from testbed.demo_text import BOLD, DIM, YELLOW, masked, paint, readable
from testbed.executable import DIRECTOR_UUID, EXECUTABLE, Answer, Cpi, config
from testbed.registry import PASSWORD, USER

CONTRACT = STEMCELL = 3
"""The contract version, and the stemcell's api_version, of a line that is not a whole request."""

FAULT = {"action": "CreateVolume", "times": 1, "drop": "after"}
"""An example: CreateVolume creates a volume and its answer is lost, once."""
DENIAL = {"action": "DescribeVolumes", "error": {"code": "UnauthorizedOperation", "message": "no"}}
"""Another: DescribeVolumes is refused, each time."""

HELP = f"""\
METHOD [ARGUMENT ...]  call a method; arguments are JSON, with blanks between them: has_vm "i-0123"
{{"method": ...}}        send a whole request, as it is
check FILE ...         run the command on the console's cpi.json; arguments are as in a shell: check --help
diagnose VM_CID        the same; a VM with the address 10.0.1.6 plays the Director, so create it first
preflight, sweep ...   the same: sweep --director UUID --older-than 0
state                  list the resources that were created and still exist
fault {{"action": ...}}  have calls to AWS go wrong, by a rule as testbed/rules.py has them, such as
                       {json.dumps(FAULT)}
                       {json.dumps(DENIAL)}
faults clear           remove all faults
throttle on|off        throttle calls as EC2 does, or no longer
help                   say this
quit                   end, and with it the simulated AWS; so does the end of the input

Anything but a whole request is sent with api_version {CONTRACT} and a stemcell of api_version {STEMCELL}."""


class BadLine(Exception):
    """An invalid line; the message says why."""


class Console(cmd.Cmd):
    """Answers lines."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.use_rawinput = sys.stdin.isatty()  # with a history, where there is one
        self.prompt = "cpi> " if self.use_rawinput else ""
        registry = {"endpoint": stage.registry.endpoint, "user": USER, "password": PASSWORD}
        self._cpi = Cpi(config(stage.fake_aws.endpoint, registry=registry), where=Path.cwd())
        self._stage = stage
        self._cloud_config = self._cpi.folder / "cloud-config.yml"
        self._cloud_config.write_text(yaml.safe_dump(cloud_config(stage.world), sort_keys=False))
        self.intro = self._introduction()

    def _introduction(self) -> str:
        """Describe the stage and the commands."""
        world, path = self._stage.world, self._cpi.config_path
        request = {"method": "info", "arguments": [], "context": {"director_uuid": "me"}, "api_version": 3}
        properties = {"instance_type": "m5.large", "availability_zone": world.zone}
        create_vm = ["agent-1", f"{world.image_id} light", properties, network(world)]
        call = shlex.join([EXECUTABLE, str(path)])
        laid = {
            "AWS": self._stage.fake_aws.endpoint,
            "registry": f"{self._stage.registry.url} (user {USER})",
            "director": DIRECTOR_UUID,
            "VPC": world.vpc_id,
            "subnets": ", ".join(world.subnet_ids),
            "groups": ", ".join(f"{name} {group_id}" for name, group_id in world.groups.items()),
            "image": world.image_id,
            "key pair": world.key_name,
            "profile": world.instance_profile,
            "cpi.json": str(path),
        }
        return "\n".join(
            [
                paint("A simulated AWS (moto), until this ends:", BOLD),
                *(f"  {name:9} {value}" for name, value in laid.items()),
                paint("To call the CPI from another terminal:", BOLD),
                f"  echo {shlex.quote(json.dumps(request))} | {call}",
                paint("To call it here (help tells more):", BOLD),
                "  info",
                f"  check {shlex.quote(str(self._cloud_config))}",
                f"  sweep --director {DIRECTOR_UUID} --older-than 0",
                f"  create_vm {' '.join(map(json.dumps, create_vm))}",
                "",
            ]
        )

    def onecmd(self, line: str) -> bool:
        """Answer a line; returns whether it is the last one."""
        try:
            return super().onecmd(line.strip())
        except BadLine as problem:
            print(paint(f"Bad line: {problem}.", YELLOW))
            return False

    def emptyline(self) -> bool:
        """Do nothing."""
        return False

    def do_help(self, _: str) -> None:
        """Say what there is."""
        print(HELP)

    def do_quit(self, _: str) -> bool:
        """End."""
        return True

    do_exit = do_EOF = do_quit  # noqa: N815 - the library's name for the end of the input

    def do_state(self, _: str) -> None:
        """List what was created."""
        print(readable(self._stage.world.state()))

    def do_fault(self, rule: str) -> None:
        """Set a rule."""
        try:
            self._stage.fake_aws.rule(**json.loads(rule))
        except (ValueError, TypeError, RecursionError, RuntimeError) as error:
            raise BadLine(f"this is no rule: {error}") from None
        print("done")

    def do_faults(self, argument: str) -> None:
        """Remove all rules."""
        self._switch({"clear": self._stage.fake_aws.clear_rules}, argument)

    def do_throttle(self, argument: str) -> None:
        """Throttle, or no longer."""
        throttle = self._stage.fake_aws.throttle
        self._switch({"on": throttle, "off": lambda: throttle(0)}, argument)

    def default(self, line: str) -> None:
        """Send a whole request, run a command, or call a method."""
        try:
            if line.startswith("{"):
                print(shown(self._cpi.raw(line.encode())))
            elif line.split(maxsplit=1)[0] in COMMANDS:
                print(self._reported(*shlex.split(line)))
            else:
                method, arguments = parsed(line)
                answer = self._cpi.call(method, *arguments, api_version=CONTRACT, stemcell=STEMCELL)
                print(shown(answer))
        except (ValueError, OSError, subprocess.TimeoutExpired) as error:
            raise BadLine(f"the CPI could not be run: {error}") from None

    def _switch(self, choices: dict[str, Callable[[], object]], argument: str) -> None:
        if argument not in choices:
            raise BadLine(f"it is one of: {', '.join(choices)}")
        choices[argument]()
        print("done")

    def _reported(self, command: str, *arguments: str) -> str:
        """Run an operator's command; like the console, it finds files from the current folder."""
        answer = self._cpi.run(command, *arguments)
        report = answer.stdout.decode(errors="replace")
        return masked("\n".join([*_remarks(answer), f"{report}exit status {answer.returncode}"]))


def parsed(line: str) -> tuple[str, list[Any]]:
    """Read a method and the JSON values after it.

    Raises:
        BadLine: It is something else.
    """
    found = re.match(r"[a-z_]+(?=\s|$)", line)
    if not found:
        raise BadLine("a line begins with a method, or is a whole request; help tells more")
    arguments = []
    place = found.end()
    while rest := line[place:].lstrip():
        place = len(line) - len(rest)
        try:
            value, place = json.JSONDecoder().raw_decode(line, place)
        except (ValueError, RecursionError) as error:
            raise BadLine(
                f"an argument is no JSON, from here on: {rest} ({error}). Strings need double quotes"
            ) from None
        arguments.append(value)
    return found[0], arguments


def shown(answer: Answer) -> str:
    """Write the outcome of a call: its stderr, then its response."""
    stdout = answer.stdout.decode(errors="replace")
    try:
        stdout = readable(json.loads(stdout))
    except ValueError:
        stdout = f"(no JSON, exit status {answer.returncode}) {stdout}"
    return masked("\n".join([*_remarks(answer), stdout]))


def _remarks(answer: Answer) -> list[str]:
    return [paint(f"stderr: {line}", DIM) for line in answer.stderr.splitlines()]


def main() -> int:
    """Answer lines until there are no more."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.stdin.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    argparse.ArgumentParser(
        prog="python -m testbed.console",
        description=__doc__,
        epilog=f"lines:\n{HELP}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    with staged() as stage:
        Console(stage).cmdloop()
    return 0


if __name__ == "__main__":
    sys.exit(main_status(main))
