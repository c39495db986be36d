"""A stand-in for the instance metadata service, version 2 only."""

import json
from datetime import UTC, datetime, timedelta

from testbed.loopback import LoopbackServer, Reply, Request

ACCESS_KEY_ID = "ASIAROLEDUMMYKEY0001"
SECRET_ACCESS_KEY = "role-secret-key-9b2e"
SESSION_TOKEN = "role-session-token-c44d"
ROLE = "bosh-director"
CREDENTIALS = "/latest/meta-data/iam/security-credentials/"
TOKEN = "AQAEATESTBEDTOKEN=="


class Imds(LoopbackServer):
    """Answers an instance's requests for its own metadata.

    Attributes:
        documents: The answers, by path; may be changed and extended.
        token: The token that it gives.
    """

    def __init__(self, instance_id: str = "i-0123456789abcdef0") -> None:
        """Serve the metadata of one instance."""
        super().__init__()
        self.token = TOKEN
        self.documents = {
            "/latest/meta-data/instance-id": instance_id,
            "/latest/meta-data/placement/availability-zone": "us-east-1a",
            "/latest/meta-data/placement/region": "us-east-1",
            CREDENTIALS: ROLE,
            CREDENTIALS + ROLE: json.dumps(credentials()),
        }

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that point a client of AWS to this server."""
        return {
            "AWS_EC2_METADATA_DISABLED": "false",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url,
        }

    def reply(self, request: Request) -> Reply:
        """Answer as the metadata service does: nothing without a token."""
        if request.path == "/latest/api/token":
            return self._token(request)
        if request.headers.get("x-aws-ec2-metadata-token") != self.token:
            return Reply(401, content_type="text/plain")
        document = self.documents.get(request.path)
        if request.method != "GET" or document is None:
            return Reply(404, content_type="text/plain")
        return Reply(200, document.encode(), "text/plain")

    def _token(self, request: Request) -> Reply:
        if request.method != "PUT":
            return Reply(405, content_type="text/plain")
        if "x-aws-ec2-metadata-token-ttl-seconds" not in request.headers:
            return Reply(400, content_type="text/plain")
        return Reply(200, self.token.encode(), "text/plain")


def credentials() -> dict[str, str]:
    """Write the credentials of the instance's role, good for some hours."""
    now = datetime.now(UTC).replace(microsecond=0)
    return {
        "Code": "Success",
        "Type": "AWS-HMAC",
        "LastUpdated": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "AccessKeyId": ACCESS_KEY_ID,
        "SecretAccessKey": SECRET_ACCESS_KEY,
        "Token": SESSION_TOKEN,
        "Expiration": (now + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
