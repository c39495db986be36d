"""The demo passes with the program as it is."""

import re

import pytest

from testbed.demo import main
from testbed.demo_text import SECRETS


@pytest.mark.timeout(300)  # 20 calls and two tools, where other work takes all processors
@pytest.mark.usefixtures("warm")
def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    """The demo shows each call and the settings without secrets, says what it checked, and leaves nothing."""
    assert main() == 0
    stdout, stderr = capsys.readouterr()
    assert stderr == ""
    calls = len(re.findall(r"^  \d+ ms, AWS: ", stdout, re.MULTILINE))
    assert stdout.endswith(f"\nChecked: the answers of {calls} calls, and that nothing is left in EC2.\n")
    for part in ("Did you mean security_groups?", "error: The security groups of the Director, sg-"):
        assert part in stdout
    assert '"mbus": "nats://nats:<secret>@10.0.1.6:4222"' in stdout
    assert [secret for secret in SECRETS if secret in stdout] == []
    assert "\033" not in stdout
