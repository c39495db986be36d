"""Instance metadata, version 2 only, for many instances on one loopback port."""

import secrets

from testbed.loopback import LoopbackServer, Reply, Request

TOKEN = "/latest/api/token"
USER_DATA = "/latest/user-data/"
INSTANCE_ID = "/latest/meta-data/instance-id/"
SSH_KEYS = "/latest/meta-data/public-keys/0/openssh-key/"


class MetadataServer(LoopbackServer):
    """Answers each instance's requests for its own metadata.

    On EC2 the service has a link-local address, and knows the instance by the network.
    Here a prefix of the path names the instance: `/INSTANCE_ID/latest/…`.
    """

    def __init__(self) -> None:
        """Begin without instances."""
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
        """Answer as the service does: nothing without a token of that same instance."""
        _, instance_id, path = request.path.split("/", 2) if request.path.count("/") > 1 else ("", "", "")
        token = self._tokens.get(instance_id)
        path = f"/{path}"
        if token is None:
            return Reply(404, content_type="text/plain")
        if path == TOKEN:
            asked = request.method == "PUT" and "x-aws-ec2-metadata-token-ttl-seconds" in request.headers
            return (
                Reply(200, token.encode(), "text/plain") if asked else Reply(400, content_type="text/plain")
            )
        if request.headers.get("x-aws-ec2-metadata-token") != token:
            return Reply(401, content_type="text/plain")
        document = self._documents[instance_id].get(path)
        if request.method != "GET" or document is None:
            return Reply(404, content_type="text/plain")
        return Reply(200, document.encode(), "text/plain")
