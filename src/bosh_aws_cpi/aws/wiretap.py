"""Sees every AWS call on its way: counts it, and logs it at debug level without its secrets."""

from typing import Any

from botocore.session import Session

from bosh_aws_cpi.log import logger
from bosh_aws_cpi.redact import MASK
from bosh_aws_cpi.tally import Tally


def install(session: Session, tally: Tally) -> None:
    """Watch all calls of all clients that the session makes from now on.

    Args:
        session: The botocore session.
        tally: Is told of each call and of what the SDK repeated.
    """

    def before(**event: Any) -> None:  # noqa: ANN401 - botocore's events are keywords
        name = _name(event["model"])
        tally.called(name)
        logger.debug("AWS %s %s", name, _Lazily(event["params"]))

    def after(**event: Any) -> None:  # noqa: ANN401
        metadata = event["parsed"].get("ResponseMetadata", {})
        retries = metadata.get("RetryAttempts", 0)
        tally.repeated(retries)
        error = event["parsed"].get("Error", {})
        logger.debug(
            "AWS %s answered %s%s (request id %s, %d retries)",
            _name(event["model"]),
            event["http_response"].status_code,
            f" {error.get('Code')}: {error.get('Message')}" if error else "",
            metadata.get("RequestId"),
            retries,
        )

    def failed(**event: Any) -> None:  # noqa: ANN401
        exception = event["exception"]
        logger.debug("AWS did not answer: %s: %s", type(exception).__name__, exception)

    session.register("before-parameter-build", before)
    session.register("after-call", after)
    session.register("after-call-error", failed)


class _Lazily:
    """Parameters that are masked and printed only when the log level asks for it."""

    def __init__(self, params: dict[str, Any]) -> None:
        self._params = params

    def __str__(self) -> str:
        return str(masked(self._params))


def masked(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a call without user_data and without the values of the tags it makes."""
    shown = dict(params)
    if "UserData" in shown:
        shown["UserData"] = MASK
    if "BlockData" in shown:
        shown["BlockData"] = f"{len(shown['BlockData'])} bytes"
    if "Tags" in shown:
        shown["Tags"] = _masked_tags(shown["Tags"])
    if "TagSpecifications" in shown:
        shown["TagSpecifications"] = [
            {
                "ResourceType": specification.get("ResourceType"),
                "Tags": _masked_tags(specification.get("Tags", [])),
            }
            for specification in shown["TagSpecifications"]
        ]
    return shown


def _masked_tags(tags: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"Key": tag.get("Key"), "Value": MASK} for tag in tags]


def _name(model: Any) -> str:  # noqa: ANN401 - botocore's operation model
    return f"{model.service_model.service_name}.{model.name}"
