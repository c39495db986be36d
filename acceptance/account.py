"""The account to work in: its clients, and the executable's configuration for it."""

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from testbed.cloud import FakeAws
from testbed.executable import ABSENT, Cpi, config

ATTEMPTS = 6
"""Retries per call: AWS throttles busy accounts."""
PATIENCE = 3900.0
"""Seconds for a call of the executable: longer than it waits for the copy of an AMI."""
PASSED_ON = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "BOSH_CA_CERT_FILE")
"""Variables of our environment that the executable gets too, in upper or lower case."""
PASSED_ON_PREFIX = "AWS_ENDPOINT_URL"
SETTLES = 30.0
"""Seconds for which AWS may not show the newest resources; EC2 documents no number."""


class Unusable(Exception):
    """The account can't be used; the message says why."""


@dataclass(frozen=True)
class Account:
    """An AWS account in one region.

    Attributes:
        region: Its name.
        create_client: Creates a boto3 client of a service.
        aws: Keys of the CPI's `aws` section that lead the executable to this account.
        env: Variables that the executable needs to reach it.
        image_id: The AMI to launch; None stands for the newest Amazon Linux.
        settles: Seconds for which this AWS may not show the newest resources.
    """

    region: str
    create_client: Callable[[str], Any]
    aws: Mapping[str, Any] = field(repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    image_id: str | None = None
    settles: float = 0.0

    @functools.cached_property
    def ec2(self) -> Any:
        """A client of EC2."""
        return self.create_client("ec2")

    @functools.cached_property
    def elb(self) -> Any:
        """A client of classic load balancers."""
        return self.create_client("elb")

    @functools.cached_property
    def elbv2(self) -> Any:
        """A client of target groups."""
        return self.create_client("elbv2")

    @functools.cached_property
    def ebs(self) -> Any:
        """A client of the EBS direct APIs."""
        return self.create_client("ebs")

    def whose(self) -> str:
        """Return the owner of the keys; call it before anything is created.

        Raises:
            Unusable: AWS refuses them, or does not answer.
        """
        try:
            answer = self.create_client("sts").get_caller_identity()
        except (ClientError, BotoCoreError) as error:
            raise Unusable(f"The AWS keys can't be checked (sts:GetCallerIdentity): {error}") from error
        return f"account {answer['Account']}, {answer['Arn']}"

    def cpi(self, **aws: Any) -> Cpi:
        """Configure the executable for this account.

        Args:
            **aws: More keys of the `aws` section.
        """
        document = config("", **{**self.aws, "region": self.region, **aws})
        return Cpi(document, env=self.env, patience=PATIENCE)


def real(region: str | None, endpoint: str | None = None, image_id: str | None = None) -> Account:
    """Return the account of the environment's keys, which are found in the usual places of AWS tools.

    Args:
        region: A region to use instead of the environment's.
        endpoint: The endpoint of all services; by default AWS's own.
        image_id: The AMI to launch.

    Raises:
        Unusable: There are no keys, or no region.
    """
    try:
        session = boto3.Session(region_name=region or os.environ.get("AWS_REGION"))
        credentials = session.get_credentials()
    except BotoCoreError as error:
        raise Unusable(str(error)) from error
    if session.region_name is None:
        raise Unusable("No region: give --region, or set AWS_REGION")
    if credentials is None:
        raise Unusable("No AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
    keys = credentials.get_frozen_credentials()
    # AWS's own endpoints, not those that the test bed's configuration names.
    ends = dict.fromkeys(("ec2_endpoint", "elb_endpoint", "sts_endpoint", "ebs_endpoint"), endpoint or ABSENT)
    aws = {
        **ends,
        "access_key_id": keys.access_key,
        "secret_access_key": keys.secret_key,
        "session_token": keys.token or ABSENT,
    }
    settings = Config(retries={"mode": "standard", "total_max_attempts": ATTEMPTS})
    make = functools.partial(session.client, endpoint_url=endpoint, config=settings)
    settles = 0.0 if endpoint else SETTLES
    return Account(session.region_name, make, aws, _variables(), image_id, settles)


def _variables() -> dict[str, str]:
    """The variables of our environment that the executable needs to reach the same AWS."""
    passed_on = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in PASSED_ON or name.startswith(PASSED_ON_PREFIX)
    }
    if bundle := os.environ.get("AWS_CA_BUNDLE"):  # boto3's name for it
        passed_on.setdefault("BOSH_CA_CERT_FILE", bundle)
    return passed_on


def simulated(fake_aws: FakeAws, image_id: str) -> Account:
    """Return the account of the simulated AWS."""
    ends = ("ec2_endpoint", "elb_endpoint", "sts_endpoint", "ebs_endpoint")
    aws = dict.fromkeys(ends, fake_aws.endpoint)
    return Account("us-east-1", fake_aws.new_client, aws, image_id=image_id)
