"""current_vm_id: the id of the VM that this process runs on."""

import os
import time

import requests

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError

PATIENCE = 5.0
"""Seconds. It is short, because nothing answers outside EC2."""
TOKEN_SECONDS = "300"  # noqa: S105 - a token's lifetime, not a token
DEFAULT_ENDPOINT = "http://169.254.169.254"


def current_vm_id(cloud: Cloud) -> str:  # noqa: ARG001 - every verb gets the cloud
    """Read the instance's id from instance metadata, IMDSv2 (contract V1: current_vm_id).

    Raises:
        CloudError: This is not an EC2 instance, or its metadata service is switched off.
    """
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        message = "The VM's own id can't be read: AWS_EC2_METADATA_DISABLED is set"
        raise CloudError(message)
    endpoint = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or DEFAULT_ENDPOINT
    try:
        return _instance_id(endpoint.rstrip("/"))
    except requests.RequestException as error:
        message = (
            f"The VM's own id can't be read from instance metadata ({type(error).__name__}): "
            "is the CPI running on an EC2 instance?"
        )
        raise CloudError(message) from None


def _instance_id(endpoint: str) -> str:
    deadline = time.monotonic() + PATIENCE
    with requests.Session() as session:
        session.trust_env = False  # a proxy would get its own machine's metadata
        token = session.put(
            f"{endpoint}/latest/api/token",
            headers={"X-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS},
            timeout=PATIENCE / 2,
        )
        token.raise_for_status()
        answer = session.get(
            f"{endpoint}/latest/meta-data/instance-id",
            headers={"X-aws-ec2-metadata-token": token.text},
            timeout=max(0.1, deadline - time.monotonic()),
        )
        answer.raise_for_status()
    return answer.text
