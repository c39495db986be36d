"""The rest of the job: its spec, `monit` and `bin/cpi_ctl`."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from testbed.job import Render

OLD_RULE = "vcap ALL= NOPASSWD: /of/an/older/release\n"


class Machine:
    """A machine's folders, and bin/cpi_ctl for them."""

    def __init__(self, folder: Path, script: str) -> None:
        """Lay the folders that every BOSH VM has."""
        self.vcap = folder / "vcap"
        self.rule = folder / "sudoers.d" / "cpi"
        self.rule.parent.mkdir()
        self.pid_file = self.vcap / "sys" / "run" / "aws_cpi" / "cpi.pid"
        self.copy = self.vcap / "packages" / "bosh_aws_cpi" / "bin" / "stemcell-copy"
        self.copy.parent.mkdir(parents=True)
        self.roles = self.pid_file.with_name("roles")
        self.chowned = folder / "chowned"
        self._programs = folder / "programs"
        self._programs.mkdir()
        chown = self._programs / "chown"  # there may be no user vcap, and the test need not be root
        chown.write_text(f'#!/bin/sh\necho "$@" >> {self.chowned}\n')
        chown.chmod(0o755)
        self._control = folder / "cpi_ctl"
        for known, here in (("/var/vcap", self.vcap), ("/etc/sudoers.d", self.rule.parent)):
            assert known in script
            script = script.replace(known, str(here))
        self._control.write_text(script)
        self._control.chmod(0o755)

    def control(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run bin/cpi_ctl as monit does: with next to no environment."""
        return subprocess.run(
            [str(self._control), *arguments],
            env={"PATH": f"{self._programs}:/bin:/usr/bin:/sbin:/usr/sbin"},
            capture_output=True,
            check=False,
            text=True,
        )

    def succeed(self, *arguments: str) -> None:
        """Run bin/cpi_ctl, which must succeed in silence."""
        done = self.control(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def machine(render: Render, tmp_path: Path) -> Machine:
    """Return a machine with the job."""
    return Machine(tmp_path, render("bin/cpi_ctl", {}))


def test_properties_are_described(job_spec: dict[str, Any]) -> None:
    """Every property says what it is for."""
    for name, definition in job_spec["properties"].items():
        assert definition["description"].strip(), name


def test_monit(render: Render) -> None:
    """Monit watches process `cpi` by its pid file, and starts and stops it by bin/cpi_ctl."""
    lines = [line.strip() for line in render("monit", {}).splitlines()]
    assert lines == [
        "check process cpi",
        "with pidfile /var/vcap/sys/run/aws_cpi/cpi.pid",
        'start program "/var/vcap/jobs/aws_cpi/bin/cpi_ctl start"',
        'stop program "/var/vcap/jobs/aws_cpi/bin/cpi_ctl stop"',
        "group vcap",
    ]


def test_folder_of_roles(machine: Machine) -> None:
    """A start creates a folder for credentials that only vcap can access, and once; a stop leaves it."""
    machine.succeed("start")
    assert machine.roles.stat().st_mode & 0o7777 == 0o700
    (machine.roles / "role-1.json").write_text("{}")
    machine.succeed("stop")
    machine.succeed("start")
    assert (machine.roles / "role-1.json").exists()
    assert machine.chowned.read_text() == f"-h vcap:vcap {machine.roles}\n"


def test_link_in_place_of_the_folder_of_roles(machine: Machine, tmp_path: Path) -> None:
    """A link that somebody put in the folder's place is left alone, with what it leads to."""
    (tmp_path / "other").mkdir(mode=0o755)
    machine.roles.parent.mkdir(parents=True)
    machine.roles.symlink_to(tmp_path / "other")
    machine.succeed("start")
    assert (tmp_path / "other").stat().st_mode & 0o7777 == 0o755
    assert not machine.chowned.exists()


def test_start_with_stemcell_copy(machine: Machine) -> None:
    """With that program in the package, vcap may run it as root, and nothing else."""
    machine.copy.write_text("")
    machine.copy.chmod(0o755)
    machine.succeed("start")
    assert machine.pid_file.read_text() == "1\n"
    assert machine.rule.read_text() == f"vcap ALL=(root) NOPASSWD: {machine.copy}\n"
    assert machine.rule.stat().st_mode & 0o7777 == 0o440
    assert list(machine.rule.parent.iterdir()) == [machine.rule]


def test_start_again(machine: Machine) -> None:
    """A start after a start, or after one that was cut short, ends in the same state."""
    machine.copy.write_text("")
    machine.copy.chmod(0o755)
    machine.succeed("start")
    machine.rule.with_name("cpi.new").write_text("half a ru")
    machine.rule.with_name("cpi.new").chmod(0o644)
    machine.succeed("start")
    assert machine.rule.stat().st_mode & 0o7777 == 0o440
    assert machine.rule.read_text().endswith(f"{machine.copy}\n")
    assert list(machine.rule.parent.iterdir()) == [machine.rule]


def test_start_after_another_release(machine: Machine) -> None:
    """Without a program to copy stemcells a start leaves no rule, not even another release's."""
    machine.rule.write_text(OLD_RULE)
    machine.rule.chmod(0o440)
    machine.succeed("start")
    assert machine.pid_file.read_text() == "1\n"
    assert list(machine.rule.parent.iterdir()) == []


def test_stop(machine: Machine) -> None:
    """A stop takes back what a start did; it succeeds too when there is nothing to take back."""
    machine.copy.write_text("")
    machine.copy.chmod(0o755)
    machine.succeed("start")
    machine.succeed("stop")
    assert not machine.pid_file.exists()
    assert list(machine.rule.parent.iterdir()) == []
    machine.succeed("stop")


@pytest.mark.parametrize("arguments", [(), ("restart",)])
def test_anything_else(machine: Machine, arguments: tuple[str, ...]) -> None:
    """Any other argument is refused, and what may be given is said."""
    done = machine.control(*arguments)
    assert done.returncode == 1
    assert "start|stop" in done.stderr
    assert not machine.pid_file.exists()
