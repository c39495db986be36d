"""What `make demo` installs, beside what `make test` installs in the same environment."""

import re
import subprocess
import sys

from testbed.cloud import ROOT

LOADS = """
import importlib, sys
from importlib.metadata import packages_distributions
for name in sys.argv[1:]:
    importlib.import_module(name)
known = packages_distributions()
modules = {each.partition(".")[0] for each in sys.modules}
print(*{name for module in modules for name in known.get(module, ())})
"""
INSTALLED_ANYHOW = {"bosh-aws-cpi", "setuptools"}  # some Pythons install setuptools into each environment


def locked(name: str) -> dict[str, str]:
    """Return the locked packages of a list, with versions, conditions and hashes."""
    text = (ROOT / f"requirements/{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9-]+)(==.*\n(?:    --hash.*\n)+)", text, re.MULTILINE))


def test_same_versions() -> None:
    """The packages of the demo are part of those of development, so one environment serves both."""
    demo, dev = locked("demo"), locked("dev")
    assert demo.items() <= dev.items()
    assert locked("run").items() <= demo.items()
    assert not demo.keys() & {"mypy", "pytest", "ruff", "uv", "boto3-stubs"}


def test_demo_packages() -> None:
    """The demo, the console and the simulated AWS load no other packages."""
    modules = ["testbed.demo", "testbed.console", "testbed.moto_server"]
    done = subprocess.run(
        [sys.executable, "-c", LOADS, *modules], check=True, capture_output=True, text=True, cwd=ROOT
    )
    loaded = {re.sub(r"[-_.]+", "-", name).lower() for name in done.stdout.split()}
    assert {"botocore", "boto3"} <= loaded
    assert loaded <= locked("demo").keys() | INSTALLED_ANYHOW
