"""What stops the script that publishes the first release; `make e2e` runs it to the end."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from testbed.loopback import LoopbackServer, Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.loopback import Request

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
TOOLS = (
    *("basename", "cat", "cp", "dirname", "false", "git", "grep", "head", "make", "mkdir", "mktemp"),
    *("mv", "rm", "sed", "sh", "sha256sum", "ssh-keygen", "tr"),
)
TASKS = {
    "release.sh": '[ -z "${PRIVATE_YML-}" ]',
    "publish.sh": """
set -eu
: $PRIVATE_YML $SIGNING_KEY
git clone -q source published
git -C published -c user.name=A -c user.email=a@example.com commit --quiet --allow-empty --message Published
echo v1 >final/tag
echo $PPID >"$HOME/script"
""",
}
"""Stand-ins for the tasks: what they are given, and what they leave."""


@dataclass
class Attempt:
    """A clone and an empty remote, and the arguments of the script."""

    folder: Path
    remote: str
    key: Path
    final: Path
    private: str = "a secret"

    @property
    def clone(self) -> Path:
        """The working copy."""
        return self.folder / "clone"

    @property
    def programs(self) -> Path:
        """All programs that the script finds."""
        return self.folder / "programs"

    def git(self, *arguments: str | Path) -> str:
        """Run git in the clone."""
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments]
        return subprocess.run(command, cwd=self.clone, check=True, capture_output=True, text=True).stdout

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        return subprocess.run(
            ["/bin/sh", "scripts/first-release", self.remote, self.key, self.final],
            cwd=self.clone,
            env={
                "PATH": str(self.programs),
                "GIT_CONFIG_NOSYSTEM": "1",
                "HOME": str(self.folder),
                "TMPDIR": str(self.folder / "tmp"),
                "PRIVATE_YML": self.private,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Return an attempt of which nothing stands in the way."""
    made = Attempt(tmp_path, str(tmp_path / "remote.git"), tmp_path / "key", tmp_path / "final")
    for name in (
        *("config/final.yml", "config/release-signers"),
        *("scripts/first-release", "scripts/sign", "scripts/version"),
    ):
        (made.clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, made.clone / name)
    for name, script in TASKS.items():
        (made.clone / "ci" / "tasks" / name).parent.mkdir(parents=True, exist_ok=True)
        (made.clone / "ci" / "tasks" / name).write_text(script)
    (made.clone / "CHANGELOG.md").write_text("# Changelog\n\n## [1]\n\n- All.\n")
    (made.clone / "pyproject.toml").write_text('[project]\nversion = "1"\n')
    (tmp_path / "tmp").mkdir()
    (tmp_path / "script").touch()
    made.programs.mkdir()
    for name in TOOLS:
        program = shutil.which(name)
        assert program, f"{name} is missing"
        (made.programs / name).symlink_to(program)
    for name in ("bosh", "git-lfs"):
        (made.programs / name).write_text("#!/bin/sh\nexit 1\n")
        (made.programs / name).chmod(0o755)
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("init", "--quiet", "--bare", "--initial-branch=main", made.remote)
    made.git("add", ".")
    made.git("commit", "--quiet", "--message", "All")
    made.git("config", "user.name", "A")
    made.git("config", "user.email", "a@example.com")
    return made


def fill_remote(attempt: Attempt) -> None:
    """Push something."""
    attempt.git("push", "--quiet", attempt.remote, "HEAD:main")


def lose_remote(attempt: Attempt) -> None:
    """Name a remote that is not there."""
    attempt.remote += "/missing"


def change(attempt: Attempt) -> None:
    """Leave a file that is not committed."""
    (attempt.clone / "new").touch()


def make_shallow(attempt: Attempt) -> None:
    """Replace the clone by one that lacks the older commits."""
    attempt.git("commit", "--quiet", "--allow-empty", "--message", "More")
    attempt.git("clone", "--quiet", "--depth=1", attempt.clone.as_uri(), attempt.folder / "shallow")
    shutil.rmtree(attempt.clone)
    (attempt.folder / "shallow").rename(attempt.clone)


def forget_name(attempt: Attempt) -> None:
    """Leave git without a name for commits."""
    attempt.git("config", "--unset", "user.name")


def lose_lfs(attempt: Attempt) -> None:
    """Have no git-lfs."""
    (attempt.programs / "git-lfs").unlink()


def lose_cli(attempt: Attempt) -> None:
    """Have no bosh CLI."""
    (attempt.programs / "bosh").unlink()


def keep_key_inside(attempt: Attempt) -> None:
    """Name a key in the working copy."""
    attempt.key = attempt.clone / "config" / "key"


def have_folder(attempt: Attempt) -> None:
    """Have the folder of the results already."""
    attempt.final.mkdir()


def lock_key(attempt: Attempt) -> None:
    """Have a key with a passphrase."""
    create_key(attempt.key, "a passphrase")


def keep_folder_inside(attempt: Attempt) -> None:
    """Name a folder in the working copy."""
    attempt.final = attempt.clone / "final"


def have_tag(attempt: Attempt) -> None:
    """Have the tag of the release already."""
    attempt.git("tag", "v1")


def name_two_versions(attempt: Attempt) -> None:
    """Commit two versions."""
    (attempt.clone / "pyproject.toml").write_text('[project]\nversion = "2"\n')
    attempt.git("commit", "--quiet", "--all", "--message", "Two")


def name_bucket(attempt: Attempt) -> None:
    """Commit a blobstore that needs credentials, and have none."""
    (attempt.clone / "config" / "final.yml").write_text("blobstore:\n  provider: s3\n")
    attempt.git("commit", "--quiet", "--all", "--message", "A bucket")
    attempt.private = ""


def list_key(attempt: Attempt) -> None:
    """Commit the public part of some key as that of the releases, and have no key."""
    create_key(attempt.key)
    public = attempt.key.with_suffix(".pub")
    line = f'bosh-aws-cpi namespaces="bosh-aws-cpi" {public.read_text()}'
    (attempt.clone / "config" / "release-signers").write_text(line)
    attempt.git("commit", "--quiet", "--all", "--message", "A key")
    attempt.key.unlink()
    public.unlink()


def list_other_key(attempt: Attempt) -> None:
    """List a key, and have another one."""
    list_key(attempt)
    create_key(attempt.key)


def create_key(file: Path, passphrase: str = "") -> None:
    """Create a key."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(file)]
    subprocess.run(command, check=True)


REFUSED: dict[Callable[[Attempt], None], str] = {
    fill_remote: "remote.git is not empty; it has HEAD refs/heads/main\n",
    lose_remote: "git can't read",
    change: "the working copy has changes: commit them, or discard them",
    make_shallow: "this clone is shallow: git fetch --unshallow",
    forget_name: "git needs your name for the commits",
    lose_lfs: "git-lfs is missing",
    lose_cli: "bosh is missing",
    keep_key_inside: "is in the working copy, and could be committed",
    have_folder: "final exists already: name a new folder",
    keep_folder_inside: "final is in the working copy",
    have_tag: "this clone has the tag v1 already",
    name_two_versions: "CHANGELOG.md names version 1, and pyproject.toml another one",
    name_bucket: "PRIVATE_YML is not set",
    list_key: "config/release-signers lists a key already",
    list_other_key: "config/release-signers does not list the public key",
    lock_key: "must be a private key in OpenSSH's format, without a passphrase",
}


@pytest.mark.parametrize("spoil", REFUSED)
def test_first_release_is_refused(spoil: Callable[[Attempt], None], attempt: Attempt) -> None:
    """The error names what stands in the way; remote, clone and key stay, and nothing is built."""
    (attempt.clone / "ci" / "tasks" / "release.sh").write_text("echo built >&2; exit 1\n")
    attempt.git("commit", "--quiet", "--all", "--message", "A task that is not reached")
    spoil(attempt)
    before = state(attempt)
    done = attempt.run()
    assert done.returncode == 1, done.stderr
    assert REFUSED[spoil] in done.stderr
    assert "built" not in done.stderr
    assert state(attempt) == before


def test_refused_push(attempt: Attempt) -> None:
    """What fails at the end leaves nothing but the key, which the next run takes."""
    hook = write_hook(attempt, "pre-receive", "exit 1")
    before = state(attempt)
    done = attempt.run()
    assert "pre-receive hook declined" in done.stderr
    assert done.stderr.endswith("refused the release, and is still empty; the message is above\n")
    assert done.returncode == 1
    assert [line for line in state(attempt) if line not in before] == [
        str(attempt.key),
        f"{attempt.key}.pub",
    ]
    hook.unlink()
    done = attempt.run()
    assert f"takes the signing key in {attempt.key}\n" in done.stdout
    assert done.returncode == 0, done.stderr
    assert (attempt.final / "tag").read_text() == "v1\n"
    assert attempt.git("ls-remote", attempt.remote).split()[1::2] == [
        "HEAD",
        "refs/heads/main",
        "refs/tags/v1",
    ]
    assert list((attempt.folder / "tmp").iterdir()) == []


LOST = {
    "the server ends": (
        "post-receive",
        "kill -KILL $PPID",
        "remote.git has HEAD refs/heads/main refs/tags/v1.\n",
    ),
    "the script ends": ("post-receive", "kill $(cat ../script)", "it is not certain whether"),
    "the remote ends": ("pre-receive", 'mv "$PWD" "$PWD.gone"; exit 1', "it is not certain whether"),
}
"""How the answer to the push gets lost: the hook that does it, and what the script says."""


@pytest.mark.parametrize(("hook", "script", "message"), LOST.values(), ids=LOST)
def test_lost_answer(hook: str, script: str, message: str, attempt: Attempt) -> None:
    """Once the push has begun, the signed files stay unless the remote is certainly empty."""
    write_hook(attempt, hook, script)
    done = attempt.run()
    assert done.returncode == 1
    assert message in done.stderr
    assert f"put the files in {attempt.final} on its page" in done.stderr
    assert (attempt.final / "tag").read_text() == "v1\n"
    assert list((attempt.folder / "tmp").iterdir()) == []


class GitServer(LoopbackServer):
    """Serves a repository over HTTP.

    Attributes:
        lost: What answers a push in the repository's place, which gets nothing by then.
    """

    def __init__(self, repository: str, lost: Reply | None) -> None:
        """Take a free port."""
        super().__init__()
        self.repository = repository
        self.lost = lost

    def reply(self, request: Request) -> Reply:
        """List the references, or take a push."""
        if request.method == "POST" and self.lost:
            return self.lost
        service = "git-receive-pack" if "git-receive-pack" in request.path else "git-upload-pack"
        head, options, kind = "", [], "result"
        if request.method == "GET":
            line = f"# service={service}\n"
            head, options, kind = f"{len(line) + 4:04x}{line}0000", ["--advertise-refs"], "advertisement"
        command = ["git", service.removeprefix("git-"), "--stateless-rpc", *options, self.repository]
        done = subprocess.run(command, input=request.body, capture_output=True, check=True)
        return Reply(200, head.encode() + done.stdout, f"application/x-{service}-{kind}")


LOST_OVER_HTTP = {
    "time-out of a gateway": Reply(504, b"late", "text/plain"),
    "closed connection": Reply(0, pieces=iter(())),
    "empty answer": Reply(200, b"", "application/x-git-receive-pack-result"),
}


@pytest.mark.parametrize("lost", LOST_OVER_HTTP.values(), ids=LOST_OVER_HTTP)
def test_lost_answer_over_http(lost: Reply, attempt: Attempt) -> None:
    """Over HTTP, git ends with 1 as after a refusal, and the remote may get the release later."""
    with GitServer(attempt.remote, lost) as server:
        attempt.remote = server.url.replace("//", "//somebody:secret@")
        done = attempt.run()
    assert [request.method for request in server.requests] == ["GET", "GET", "POST", "GET"]
    assert done.returncode == 1
    assert f"it is not certain whether {server.url} has the release" in done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert (attempt.final / "tag").read_text() == "v1\n"


def test_refused_push_over_http(attempt: Attempt) -> None:
    """A hook's refusal is certain over HTTP as well."""
    write_hook(attempt, "pre-receive", "exit 1")
    with GitServer(attempt.remote, None) as server:
        attempt.remote = server.url.replace("//", "//somebody:secret@")
        done = attempt.run()
    assert done.stderr.endswith(
        f"{server.url} refused the release, and is still empty; the message is above\n"
    )
    assert "secret" not in done.stdout + done.stderr
    assert not attempt.final.exists()


def test_signatures_of_git(attempt: Attempt) -> None:
    """Whoever has git sign everything publishes like the pipeline, without git's signatures."""
    (attempt.folder / ".gitconfig").write_text(
        "[commit]\ngpgSign = true\n[tag]\ngpgSign = true\n[push]\ngpgSign = true\n[gpg]\nprogram = false\n"
    )
    done = attempt.run()
    assert done.returncode == 0, done.stderr
    assert "refs/tags/v1" in attempt.git("ls-remote", attempt.remote)


def write_hook(attempt: Attempt, name: str, script: str) -> Path:
    """Give the remote a hook."""
    hook = Path(attempt.remote) / "hooks" / name
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)
    return hook


def state(attempt: Attempt) -> list[str]:
    """List the files beside the clone and what git knows of it; the remote is among them."""
    git = {attempt.clone / ".git", Path(attempt.remote) / "objects"}
    files = [path for path in attempt.folder.rglob("*") if not git & {*path.parents}]
    said = [attempt.git("log", "--all", "--format=%H"), attempt.git("status", "--porcelain")]
    return [*sorted(str(path) for path in files), *said]
