"""The identity of a request: by it a call that is made again finds what was made before it was killed."""

import uuid

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import encode
from bosh_aws_cpi.plan.tokens import client_token


def call_id(cloud: Cloud, method: str, *wish: object) -> str:
    """The id of this call, for a tag by which what it makes is found.

    The Director numbers its requests, at random and from a small range. One that is made again as
    it was gets the same id again; so does, once in a blue moon, another one that asks for the very
    same thing. Whoever looks for what such an id has made must therefore take what is new alone.

    Args:
        cloud: The call's cloud.
        method: The method.
        wish: Its arguments, as far as they say what is to be made; JSON.

    Returns:
        At most 64 characters. Without a request id each call has its own.
    """
    config = cloud.config
    if config.request_id is None:
        return str(uuid.uuid4())
    return client_token(config.director_uuid, config.request_id, method, *map(encode, wish))
