"""Reads and checks the configuration of one run, and masks its secrets in the log."""

from __future__ import annotations

import os

from bosh_aws_cpi import log
from bosh_aws_cpi.config import cpi_config, file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bosh_aws_cpi.config.cpi_config import CpiConfig
    from bosh_aws_cpi.jsontext import Json

_SECRETS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def load(path: str, context: Json) -> CpiConfig:
    """Read a configuration file; from then on no log line shows its secrets or the environment's.

    Args:
        path: The file's path.
        context: The request's context, merged over ``aws``, key by key.

    Raises:
        Unknown: The file can't be read, or has no ``cloud.properties``.
        InvalidCall: The ``aws`` section does not validate; the message names the keys.
    """
    document = file.read(path)
    environment = {f"secret {name}": os.environ[name] for name in _SECRETS if name in os.environ}
    log.redact.learn([document, environment])
    settings = cpi_config.parse(document, context, os.environ)
    log.set_level(settings.log_level)
    return settings
