"""`bin/cpi`, run as its two callers run it: what it starts, with which arguments and environment."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from testbed.job import PYTHON_PROGRAM, Render

Install = Callable[[Mapping[str, object]], "Installed"]

NASTY = "'a' ''\"b\"\r\n\n$HOME $(id) `id` \\ \\n \\' %s #{1 + 1} <%= 1 %> {x} * ? ~ ! & ; | > \xe9 \u65e5\n"
METADATA = "169.254.169.254"
DIRECTOR_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
FLAGS = ("-I", "-S", "-B", "-X", "utf8")
PROXY = "http://user:password@proxy.example.org:3128"
PROXY_NAMES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
ADDED_BY_SHELLS = {"PWD", "OLDPWD", "SHLVL", "_"}
ADDED_BY_PYTHON = {"LC_CTYPE"}

SAYS_HOW_IT_WAS_STARTED = """\
import json, os, sys
environment = {os.fsdecode(name): os.fsdecode(value) for name, value in os.environb.items()}
told = {"arguments": sys.argv[1:], "environment": environment, "process": os.getpid()}
print(json.dumps({**told, "stdin": sys.stdin.read()}))
sys.exit(3)
"""
SAYS_WHAT_IT_FOUND = """\
import json, sys, neighbour
print(json.dumps([sys.argv[1:], sys.path[0], neighbour.__file__, sys.flags.utf8_mode]))
"""


@dataclass(frozen=True)
class Started:
    """What bin/cpi started in its place."""

    arguments: list[str]
    environment: dict[str, str]
    same_process: bool
    stdin: str
    status: int
    stderr: str

    @property
    def handed_on(self) -> dict[str, str]:
        """The environment, without what shells and Python add of themselves."""
        added = ADDED_BY_SHELLS | ADDED_BY_PYTHON
        return {name: value for name, value in self.environment.items() if name not in added}

    @property
    def proxies(self) -> dict[str, str]:
        """The part of the environment that is about proxies."""
        return {name: value for name, value in self.environment.items() if name.lower().endswith("_proxy")}


class Installed:
    """The job and its packages in a folder.

    Args:
        folder: The folder.
        script: What bin/cpi is.
        shell: What runs it; None leaves that to its first line.
    """

    def __init__(self, folder: Path, script: str, shell: str | None) -> None:
        self.packages = folder / "packages"
        self.jobs = folder / "jobs"
        self.library = self.packages / "bosh_aws_cpi" / "lib"
        self.python = self.packages / PYTHON_PROGRAM
        told = folder / "told.py"
        executable(told, SAYS_HOW_IT_WAS_STARTED)
        told_by = shlex.join([sys.executable, "-IS", str(told)])
        executable(self.python, f'#!/bin/sh\nexec {told_by} "$0" "$@"\n')
        cpi = self.jobs / "aws_cpi" / "bin" / "cpi"
        executable(cpi, script)
        self.command = [*([shell] if shell else []), str(cpi)]

    def process(
        self, environment: Mapping[str, str], folder: Path | str = "/", arguments: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        """Start bin/cpi in this environment alone."""
        return subprocess.Popen(
            [*self.command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
        )

    def run(
        self, environment: Mapping[str, str], folder: Path | str = "/", arguments: Sequence[str] = ()
    ) -> Started:
        """Run bin/cpi in this environment alone; its Python says how it was started."""
        with self.process(environment, folder, arguments) as process:
            stdout, stderr = process.communicate(b"a request")
        assert process.returncode == 3, stderr
        told = json.loads(stdout)
        return Started(
            arguments=told["arguments"],
            environment=told["environment"],
            same_process=told["process"] == process.pid,
            stdin=told["stdin"],
            status=process.returncode,
            stderr=stderr.decode(),
        )

    def create_env(self, **operators: str) -> dict[str, str]:
        """Return create-env's environment, with this of the operator's own."""
        folders = {"BOSH_PACKAGES_DIR": str(self.packages), "BOSH_JOBS_DIR": str(self.jobs)}
        return {"PATH": DIRECTOR_PATH, **operators, **folders}

    @property
    def command_line(self) -> list[str]:
        """What must be started, with its arguments."""
        configuration = self.jobs / "aws_cpi" / "config" / "cpi.json"
        return [str(self.python), *FLAGS, str(self.library), str(configuration)]


def executable(path: Path, text: str) -> None:
    """Write a file that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    path.chmod(0o755)


@pytest.fixture(params=["sh", "bash"])
def shell(request: pytest.FixtureRequest) -> str:
    """Return each shell that /bin/sh may be: dash on most Linux machines, bash on a Mac."""
    name: str = request.param
    found = shutil.which(name)
    assert found is not None
    return found


@pytest.fixture
def install(render: Render, shell: str, tmp_path: Path) -> Install:
    """Return a function that installs the job with these properties."""

    def installed(properties: Mapping[str, object]) -> Installed:
        return Installed(tmp_path, render("bin/cpi", properties), shell)

    return installed


def test_director(render: Render, tmp_path: Path) -> None:
    """In the Director's environment bin/cpi finds its own job and packages, and adds no variable."""
    script = render("bin/cpi", {}).replace("/var/vcap", str(tmp_path))
    installed = Installed(tmp_path, script, shell=None)
    environment = {"PATH": DIRECTOR_PATH, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    started = installed.run(environment)
    assert started.arguments == installed.command_line
    assert started.handed_on == environment
    assert started.stderr == ""


def test_folder_of_roles(render: Render, tmp_path: Path) -> None:
    """Where bin/cpi_ctl has created the folder for credentials of roles, the CPI is told of it."""
    installed = Installed(tmp_path, render("bin/cpi", {}).replace("/var/vcap", str(tmp_path)), shell=None)
    folder = tmp_path / "sys/run/aws_cpi/roles"
    folder.mkdir(parents=True)
    added = {"BOSH_AWS_CPI_RUN_DIR": str(folder)}
    assert installed.run({"PATH": DIRECTOR_PATH}).handed_on == {"PATH": DIRECTOR_PATH, **added}


def test_create_env(install: Install) -> None:
    """In create-env's environment the folders that it names count, and the operator's variables stay."""
    installed = install({})
    environment = installed.create_env(HOME="/home/me", CDPATH="/", NOTE=NASTY, packages="p", jobs="j")
    started = installed.run(environment)
    assert started.arguments == installed.command_line
    assert started.handed_on == environment
    assert started.stderr == ""


@pytest.mark.parametrize("name", ["it's", 'a "b" $HOME *', "-n", "\\", "\xe9\n"])
def test_odd_folders(render: Render, shell: str, tmp_path: Path, name: str) -> None:
    """Whatever characters the paths hold, they arrive whole; where bin/cpi is run from doesn't matter."""
    installed = Installed(tmp_path / name, render("bin/cpi", {"aws.connection_options.ca_cert": "x"}), shell)
    started = installed.run(installed.create_env(), folder=tmp_path / name)
    assert started.arguments == installed.command_line
    bundle = installed.jobs / "aws_cpi" / "config" / "cacert.pem"
    assert started.environment["BOSH_CA_CERT_FILE"] == str(bundle)


def test_command(install: Install) -> None:
    """An operator's command gets the job's configuration behind its name, and then its own arguments."""
    installed = install({})
    arguments = ["sweep", "--director", 'it\'s "me" *', "", "--delete"]
    started = installed.run(installed.create_env(), arguments=arguments)
    *flags, configuration = installed.command_line
    assert started.arguments == [*flags, "sweep", configuration, *arguments[1:]]


def test_one_process(install: Install) -> None:
    """Python takes the place of bin/cpi: it has its process, stdin and exit status, and no other was run."""
    properties = {"env.https_proxy": PROXY, "aws.connection_options.ca_cert": "x"}
    installed = install(properties)
    started = installed.run({**installed.create_env(), "PATH": "/nonexistent"})
    assert started.same_process
    assert started.stdin == "a request"
    assert started.status == 3
    assert started.stderr == ""


def test_operators_python(install: Install, tmp_path: Path) -> None:
    """Nothing that the operator set or left for other Pythons reaches ours, and it writes no bytecode."""
    installed = install({})
    wrapper = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'
    executable(installed.python, wrapper)
    executable(installed.library / "__main__.py", SAYS_WHAT_IT_FOUND)
    executable(installed.library / "neighbour.py", "")
    hostile = tmp_path / "hostile"
    for name in ("json", "os", "sitecustomize", "usercustomize", "neighbour", "encodings"):
        executable(hostile / f"{name}.py", "raise SystemExit('not ours')")
    environment = installed.create_env(
        HOME=str(hostile),
        LC_ALL="C",
        PYTHONPATH=str(hostile),
        PYTHONHOME=str(hostile),
        PYTHONSTARTUP=str(hostile / "json.py"),
        PYTHONINSPECT="1",
        PYTHONUTF8="0",
        PYTHONPYCACHEPREFIX=str(hostile),
    )
    with installed.process(environment, folder=hostile) as process:
        stdout, stderr = process.communicate()
    assert stderr == b""
    arguments, path, neighbour, utf8 = json.loads(stdout)
    assert arguments == installed.command_line[-1:]
    assert path == str(installed.library)
    assert neighbour == str(installed.library / "neighbour.py")
    assert utf8 == 1
    assert list(tmp_path.rglob("*.pyc")) == []


@pytest.mark.parametrize("value", [NASTY, 3128])
def test_proxy_properties(install: Install, value: object) -> None:
    """A proxy property is exported unchanged in small and in capital letters, over the operator's own."""
    names = ("http_proxy", "https_proxy", "no_proxy")
    installed = install({f"env.{name}": value for name in names})
    operators = {**dict.fromkeys(names, "small"), **{name.upper(): "CAPITAL" for name in names}}
    found = installed.run(installed.create_env(**operators)).proxies
    assert {found[name] for name in operators if "no" not in name.lower()} == {str(value)}
    assert found["no_proxy"] == found["NO_PROXY"]
    assert found["no_proxy"].startswith(str(value))


def test_no_proxy_properties(install: Install) -> None:
    """Without proxy properties no variable about proxies is made, and the operator's exceptions stay."""
    installed = install({})
    assert installed.run(installed.create_env()).proxies == {}
    given = {"no_proxy": "small.example.org", "NO_PROXY": "CAPITAL.example.org"}
    assert installed.run(installed.create_env(**given)).proxies == given


def test_empty_proxy_properties(install: Install) -> None:
    """An empty property takes the operator's proxy away."""
    installed = install({"env.http_proxy": "", "env.https_proxy": "", "env.no_proxy": ""})
    started = installed.run(installed.create_env(http_proxy=PROXY, HTTPS_PROXY=PROXY, no_proxy="example.org"))
    assert set(started.proxies.values()) == {""}


@pytest.mark.parametrize(
    ("properties", "operators", "expected"),
    [
        ({"env.http_proxy": PROXY}, {}, METADATA),
        ({"env.https_proxy": PROXY, "env.no_proxy": "a.org,b.org"}, {}, f"a.org,b.org,{METADATA}"),
        ({"env.https_proxy": PROXY, "env.no_proxy": ""}, {"no_proxy": "a.org"}, METADATA),
        ({"env.https_proxy": PROXY, "env.no_proxy": "a.org"}, {"NO_PROXY": "b.org"}, f"a.org,{METADATA}"),
        ({"env.https_proxy": PROXY}, {"no_proxy": "a.org", "NO_PROXY": "b.org"}, f"a.org,{METADATA}"),
        ({"env.https_proxy": PROXY}, {"no_proxy": "*"}, "*"),
        ({"env.no_proxy": "a.org"}, {"https_proxy": PROXY}, f"a.org,{METADATA}"),
        *(({}, {name: PROXY}, METADATA) for name in PROXY_NAMES),
    ],
)
def test_metadata_is_never_asked_by_proxy(
    install: Install, properties: dict[str, object], operators: dict[str, str], expected: str
) -> None:
    """With a proxy, instance metadata is added to the exceptions; `*` alone excepts everything."""
    installed = install(properties)
    found = installed.run(installed.create_env(**operators)).proxies
    assert found["no_proxy"] == found["NO_PROXY"] == expected


@pytest.mark.parametrize("properties", [{}, {"aws.connection_options.ca_cert": " \n"}])
def test_no_ca_certificates(install: Install, properties: dict[str, object]) -> None:
    """Without certificates, or with blank ones, no file is named."""
    installed = install(properties)
    assert "BOSH_CA_CERT_FILE" not in installed.run(installed.create_env()).environment


def test_no_credentials(render: Render, tmp_path: Path) -> None:
    """bin/cpi and a process's arguments contain no credentials, not even a proxy's."""
    secret = "secret-5ef0"
    names = (
        *("aws.access_key_id", "aws.secret_access_key", "aws.session_token", "registry.password"),
        *("registry.username", "registry.host", "nats.password", "nats.address", "agent.mbus"),
    )
    properties: dict[str, object] = dict.fromkeys(names, secret)
    assert secret not in render("bin/cpi", properties)
    proxied = Installed(tmp_path, render("bin/cpi", {"env.https_proxy": f"http://u:{secret}@p"}), None)
    started = proxied.run(proxied.create_env())
    assert secret in started.environment["https_proxy"]
    assert secret not in " ".join(started.arguments)
