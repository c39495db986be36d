"""Stand-ins for the instance metadata service, version 2 only: for one instance, and for many."""

import json
import secrets
from datetime import UTC, datetime, timedelta

from testbed.loopback import LoopbackServer, Reply, Request

ACCESS_KEY_ID = "ASIAROLEDUMMYKEY0001"
SECRET_ACCESS_KEY = "role-secret-key-9b2e"
SESSION_TOKEN = "role-session-token-c44d"
ROLE = "bosh-director"
CREDENTIALS = "/latest/meta-data/iam/security-credentials/"
TOKEN = "AQAEATESTBEDTOKEN=="
TOKEN_PATH = "/latest/api/token"
USER_DATA = "/latest/user-data/"
INSTANCE_ID = "/latest/meta-data/instance-id/"
SSH_KEYS = "/latest/meta-data/public-keys/0/openssh-key/"


class Imds(LoopbackServer):
    """Answers an instance's requests for its own metadata."""

    def __init__(self, instance_id: str = "i-0123456789abcdef0") -> None:
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
        """Answer as the metadata service does."""
        return answered(request, request.path, self.token, self.documents)


class MetadataServer(LoopbackServer):
    """Answers each instance's requests for its own metadata.

    On EC2 the service has a link-local address, and knows the instance by the network.
    Here a prefix of the path names the instance: `/INSTANCE_ID/latest/…`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._documents: dict[str, dict[str, str]] = {}
        self._tokens: dict[str, str] = {}

    def add(self, instance_id: str, user_data: str) -> None:
        """Begin to answer for an instance."""
        # An empty key, because the agent retries a 404 for ten seconds.
        self._documents[instance_id] = {USER_DATA: user_data, INSTANCE_ID: instance_id, SSH_KEYS: ""}
        self._tokens[instance_id] = secrets.token_urlsafe()

    def remove(self, instance_id: str) -> None:
        """Stop answering for an instance."""
        self._documents.pop(instance_id, None)
        self._tokens.pop(instance_id, None)

    def reply(self, request: Request) -> Reply:
        """Answer as the service does, with the token and the documents of that same instance."""
        instance_id, _, path = request.path.removeprefix("/").partition("/")
        return answered(
            request, f"/{path}", self._tokens.get(instance_id, ""), self._documents.get(instance_id, {})
        )


def answered(request: Request, path: str, token: str, documents: dict[str, str]) -> Reply:
    """Answer a request of one instance: nothing without its token."""
    if path == TOKEN_PATH:
        is_put = request.method == "PUT" and "x-aws-ec2-metadata-token-ttl-seconds" in request.headers
        is_asked = is_put and bool(token)
        return Reply(200 if is_asked else 400, token.encode() if is_asked else b"", "text/plain")
    if not token or request.headers.get("x-aws-ec2-metadata-token") != token:
        return Reply(401, content_type="text/plain")
    document = documents.get(path)
    if request.method != "GET" or document is None:
        return Reply(404, content_type="text/plain")
    return Reply(200, document.encode(), "text/plain")


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
