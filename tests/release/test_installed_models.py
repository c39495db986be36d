"""The installed form reads cloud properties as a checkout does, though its pydantic-core is prepared."""

import shutil
from pathlib import Path
from typing import Any

import pydantic_core.core_schema
import pytest

from bosh_release.install import drop_typed_dicts
from testbed.bench.forms import Form, pip_form, release_form
from testbed.executable import Cpi, config


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> list[Form]:
    """Return the executable of this checkout, and the one that the release's package installs."""
    return [pip_form(), release_form(tmp_path_factory.mktemp("installed"))]


@pytest.mark.parametrize(
    ("method", "properties"),
    [
        ("create_disk", {"encrypted": [], "iops": "many", "kms_key_arn": {}}),
        ("create_vm", {"instance_type": ["m5.large"], "ephemeral_disk": {"size": "x"}}),
        ("create_vm", {"instance_type": "m5.large", "lb_target_groups": [{"port": 1}], "root_disk": 3}),
        (
            "create_vm",
            {
                "instance_type": "m5.large",
                "availability_zone": "a",
                "metadata_options": {"http_tokens": "sometimes"},
            },
        ),
    ],
)
def test_same_answers(forms: list[Form], tmp_path: Path, method: str, properties: dict[str, Any]) -> None:
    """Wrong properties get the same error."""
    arguments = (
        [1024, properties] if method == "create_disk" else ["a", "ami-1 light", properties, {}, [], {}]
    )
    answers = []
    for form in forms:
        settings = config("http://127.0.0.1:1")
        answer = Cpi(settings, command=form.command(tmp_path)[:-1]).call(method, *arguments, stemcell=2)
        answers.append(answer.error)
    assert answers[0] is not None
    assert answers[1] == answers[0]


def test_typed_dicts_are_there(tmp_path: Path) -> None:
    """This version of pydantic-core has the classes that are dropped; without any, the step can go."""
    module = Path(shutil.copy(pydantic_core.core_schema.__file__, tmp_path))
    drop_typed_dicts(module)
    assert module.read_text(encoding="utf-8").count("= dict\n") > 50
