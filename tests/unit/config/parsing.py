"""The least configuration, with what a test adds."""

from typing import Any

import pytest

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.errors import InvalidCall
from testbed.executable import ABSENT

AWS: dict[str, Any] = {
    "max_retries": 8,
    "region": "us-east-1",
    "access_key_id": "AKIA1",
    "secret_access_key": "secret",
}
ROLE_ARN = "arn:aws:iam::123456789012:role/cpi"


def parse(
    aws: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    environ: dict[str, str] | None = None,
    **sections: Any,
) -> cpi_config.CpiConfig:
    """Parse the configuration; `ABSENT` takes a key of the section aws out."""
    section = {key: value for key, value in {**AWS, **(aws or {})}.items() if value is not ABSENT}
    document = {"cloud": {"plugin": "aws", "properties": {"aws": section, **sections}}}
    return cpi_config.parse(document, context or {}, environ or {})


def refusal(aws: dict[str, Any] | None = None, **more: Any) -> str:
    """Parse what must be refused, and return the details of the message."""
    with pytest.raises(InvalidCall) as refused:
        parse(aws, **more)
    return refused.value.message.removeprefix("Arguments are not correct, details: '").removesuffix("'")
