"""The identity of a request, by which a retry finds the resources that a killed attempt has created."""

import uuid
from hashlib import sha256

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import encode


def client_token(*parts: object) -> str:
    """The client token for exactly these values, by which EC2 recognises a retry: 64 characters, its limit.

    Args:
        parts: The values that identify the resource to create, and are the same in a call and its retry.
    """
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()


def call_id(cloud: Cloud, method: str, *wish: object) -> str:
    """The id of this call, for a tag that marks the resources that it creates.

    The Director numbers its requests at random, from a small range. A retry has the same id as the first
    attempt. In rare cases another request with the same arguments has it too, so a resource with this tag
    belongs to this call only if it is recent.

    Args:
        wish: The arguments that determine the resource; JSON.

    Returns:
        At most 64 characters. Without a request id, it is different for each call.
    """
    config = cloud.config
    if config.request_id is None:
        return str(uuid.uuid4())
    return client_token(config.director_uuid, config.request_id, method, *map(encode, wish))
