"""Client tokens: the same request is sent twice."""

import json
from typing import Any

from moto.ec2.responses.amis import AmisResponse
from moto.ec2.responses.elastic_block_store import ElasticBlockStore
from moto.ec2.responses.elastic_network_interfaces import ElasticNetworkInterfaces
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

TOKEN_LIMIT = 64
REFUSED = "refused"
"""EC2's answer to a known token with other parameters, unless a rule's `states` say otherwise.

Of RunInstances the EC2 developer guide ("Ensuring idempotency") says that it may also "return successfully
without performing any further actions".
"""


def check_token(token: str) -> None:
    """Refuse a client token that is too long or not ASCII."""
    if len(token) > TOKEN_LIMIT or not token.isascii():
        refuse(
            "InvalidParameterValue",
            f"Value ({token}) for parameter clientToken is invalid. "
            f"It must be at most {TOKEN_LIMIT} ASCII characters.",
        )


def first_answer(response: Any, key: tuple[str, str], request: str) -> Any:
    """Find the answer that the same request got before, if there is one."""
    first_request, result = response.ec2_backend.testbed_tokens.get(key, (request, None))
    if first_request != request and states.outcome(REFUSED) == REFUSED:
        refuse(
            "IdempotentParameterMismatch",
            "The client token you have provided is associated with a "
            "different request: its parameters differ.",
        )
    return result


def show_own_state(response: Any) -> None:
    """Let an answer show a resource's actual state, not the state that moto shows for new ones."""
    transformers = response.RESPONSE_KEY_PATH_TO_TRANSFORMER
    kept = {path: change for path, change in transformers.items() if not path.endswith(".State")}
    response.RESPONSE_KEY_PATH_TO_TRANSFORMER = kept


def idempotent(original: Original, response: Any) -> Any:
    """EC2 answers a repeated client token with the first resource; moto created another one.

    An instance is shown as it is now. A resource that was deleted meanwhile is answered
    too: its token stays in use. The same token with other parameters is refused. A refused
    call leaves its token unused.
    """
    token = parameter(response, "ClientToken")
    if not token:
        return original(response)
    check_token(token)
    backend = response.ec2_backend
    if not hasattr(backend, "testbed_tokens"):
        backend.testbed_tokens = {}
    request = json.dumps(response.params, sort_keys=True, default=str)
    key = (original.__name__, token)
    result = first_answer(response, key, request)
    if result is None:
        result = original(response)
        backend.testbed_tokens[key] = (request, result)
    else:
        show_own_state(response)
    return result


for _owner, _name in (
    (InstanceResponse, "run_instances"),
    (ElasticNetworkInterfaces, "create_network_interface"),
    (ElasticBlockStore, "create_volume"),
    (ElasticBlockStore, "copy_volumes"),
    (AmisResponse, "copy_image"),
):
    PATCHES.around(_owner, _name)(idempotent)


@PATCHES.around(InstanceResponse, "run_instances")
def live_instance(original: Original, response: Any) -> Any:
    """EC2 refuses the token of an instance that has terminated; moto ignored tokens."""
    result = original(response)
    if any(instance.state == "terminated" for instance in result.result.instances):
        refuse(
            "IdempotentInstanceTerminated",
            "The specified instance has terminated; retry with another client token",
        )
    return result
