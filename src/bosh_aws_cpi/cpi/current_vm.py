"""current_vm_id: the id of the VM that this process runs on."""

import os
import re
import time

import requests

from bosh_aws_cpi import connections
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import ID_DIGITS

PATIENCE = 5.0
"""Seconds. It is short, because nothing answers outside EC2."""
TOKEN_SECONDS = "300"  # noqa: S105 - a token's lifetime, not a token
DEFAULT_ENDPOINT = "http://169.254.169.254"
_MAX_TEXT_BYTES = 4096
"""Bytes of a token or an id; both are far shorter."""


def current_vm_id(cloud: Cloud) -> str:  # noqa: ARG001 - every method gets the cloud
    """Read the instance's id from instance metadata, IMDSv2 (contract V1: current_vm_id).

    Raises:
        CloudError: This is not an EC2 instance, or its metadata service is switched off.
    """
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
        raise CloudError("The VM's own id can't be read: AWS_EC2_METADATA_DISABLED is set")
    endpoint = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT") or DEFAULT_ENDPOINT
    connections.install()
    try:
        vm_cid = _instance_id(endpoint.rstrip("/"))
    except (requests.RequestException, ValueError) as error:  # urllib3's for a wrong URL is a ValueError
        vm_cid, why = "", type(error).__name__
    else:
        why = "the answer is no instance id"
    if not re.fullmatch(f"i-{ID_DIGITS}", vm_cid):
        raise CloudError(
            f"The VM's own id can't be read from instance metadata ({why}): is the CPI running on an EC2 "
            "instance?"
        )
    return vm_cid


def _instance_id(endpoint: str) -> str:
    """Return the metadata service's answer, which may be any text; empty if the answer is too long."""
    deadline = time.monotonic() + PATIENCE
    with requests.Session() as session:
        session.trust_env = False  # a proxy would get its own machine's metadata

        def ask(http_method: str, path: str, seconds: float, headers: dict[str, str]) -> str:
            url = f"{endpoint}/latest/{path}"
            answer = session.request(
                http_method, url, headers=headers, timeout=seconds, stream=True, allow_redirects=False
            )
            answer.raise_for_status()
            return (connections.read(answer, _MAX_TEXT_BYTES) or b"").decode("ascii", "replace")

        lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS}
        token = ask("PUT", "api/token", PATIENCE / 2, lifetime)
        left = max(0.1, deadline - time.monotonic())
        return ask("GET", "meta-data/instance-id", left, {"X-aws-ec2-metadata-token": token})
