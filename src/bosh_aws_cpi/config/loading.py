"""Reads the configuration file, and masks its secrets in the log.

The file is JSON, or YAML, which the Ruby CPI also accepts.
"""

from __future__ import annotations

import os
import select
import stat
import time
from typing import Final

from bosh_aws_cpi import jsontext, log
from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.errors import Unknown
from bosh_aws_cpi.jsontext import Json

STDIN: Final = "-"
"""The name of stdin as a configuration file, for commands only; see `process`."""
_MAX_MIB: Final = 1
"""The maximum size of the file in MiB; the largest value may be a bundle of certificates."""
_MAX_YAML_VALUES: Final = 20_000
"""The maximum number of values in a YAML file, because YAML is slow to read."""
_MIB: Final = 1 << 20
_READ_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
READ_SIZE: Final = 1 << 16
_TIMEOUT: Final = 60
"""The time limit in seconds for the writer of a pipe, which may be a command that asks a Director."""
_SIMILARITY: Final = 0.6
"""How similar an unknown key of the file must be to a known key that is proposed (see `log.nearest`)."""
_CONTEXT_SIMILARITY: Final = 0.8
"""The same for a key of the context, in which a Director may send other keys."""
_MAX_SHOWN: Final = 20
"""The maximum number of unknown keys that a warning names."""
_SECRET_VARIABLES: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def load(path: str, context: Json) -> CpiConfig:
    """Read a configuration file, and mask its secrets and those of the environment in the log from now on.

    The arguments and the errors are those of `read` and of `cpi_config.parse`.
    """
    document = read(path)
    try:
        return parse_document(document, context, path)
    finally:  # a key may be missing because it is mistyped
        warn_of_unknown_keys(document, context)


def parse_document(document: object, context: Json, path: str) -> CpiConfig:
    """Parse a configuration file's content, and mask its secrets and those of the environment in the log."""
    environment = {f"secret {name}": os.environ[name] for name in _SECRET_VARIABLES if name in os.environ}
    log.redact.learn([document, environment])
    settings = cpi_config.parse(document, context, os.environ, path)
    log.set_level(settings.debug_cpi.log_level)
    return settings


def warn_of_unknown_keys(document: object, context: Json) -> None:
    """Log the unknown keys of the section ``aws``, each with the most similar known key.

    A newer Director may send new keys in the context; of these, only keys similar to a known key are logged.
    """
    unknown = cpi_config.unknown_keys(document, context)
    if not unknown:
        return
    shown = []
    named = sorted(filter(cpi_config.is_name, unknown))
    for key in named[:_MAX_SHOWN]:
        near = log.nearest(key, AwsConfig.rows, _CONTEXT_SIMILARITY if key in context else _SIMILARITY)
        if near or key not in context:
            shown.append(f"aws.{key}" + (f" (did you mean {near}?)" if near else ""))
    if unknown - {*named, *context}:
        shown.append("a key that is not a name (a space may be missing after its colon)")
    if len(named) > _MAX_SHOWN:
        shown.append("and others")
    if shown:
        text = "Unknown configuration keys: %s"
        log.logger.warning(text, ", ".join(shown), is_whole=True)


def read(path: str) -> object:
    """Read the configuration file.

    Raises:
        Unknown: The file is missing, unreadable, too large, or neither JSON nor YAML. The message names
            the file and never quotes its content.
    """
    try:
        raw = content(path, _MAX_MIB)
    except ValueError as error:
        raise Unknown(f"Cannot read the configuration file '{path}': {error}") from None
    try:
        return jsontext.decode(raw)
    except jsontext.JsonTextError as error:
        return _read_yaml(path, raw, error)


def content(path: str, max_mib: int) -> bytes:
    """Read a file, or a pipe such as the shell's <(…).

    Args:
        path: The path, or `STDIN`.
        max_mib: The maximum size in MiB.

    Raises:
        ValueError: The file can't be read; the message says why.
    """
    try:
        descriptor = os.dup(0) if path == STDIN else os.open(path, _READ_FLAGS)
        try:
            return _content(descriptor, max_mib)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ValueError(error.strerror) from None


def _content(descriptor: int, max_mib: int) -> bytes:
    mode = os.fstat(descriptor).st_mode
    is_pipe = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))  # reading a directory fails below
    if is_pipe and not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):  # stdin may be a socket
        raise ValueError("it is neither a file nor a pipe")
    end = time.monotonic() + _TIMEOUT
    data = bytearray()
    while True:
        if is_pipe:
            _wait_for_writer(descriptor, end)
        if not (chunk := os.read(descriptor, READ_SIZE)):
            return bytes(data)
        data += chunk
        if len(data) > max_mib * _MIB:
            raise ValueError(f"it is larger than {max_mib} MiB")


def _wait_for_writer(descriptor: int, end: float) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while time.monotonic() < end:
        if poller.poll(1000):
            return
    raise ValueError(f"it is a pipe, and its writer did not close it within {_TIMEOUT} seconds")


def _read_yaml(path: str, raw: bytes, json_error: jsontext.JsonTextError) -> object:
    import yaml  # noqa: PLC0415 - not needed for JSON, the usual format

    from bosh_aws_cpi.config.bounded_yaml import BoundedLoader, OverLimitError  # noqa: PLC0415 - the same

    class JsonLoader(BoundedLoader):
        """Reads no dates, because JSON has none."""

        max_values = _MAX_YAML_VALUES
        yaml_implicit_resolvers = {  # noqa: RUF012 - the library's own attribute
            first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    try:
        document = yaml.load(raw, Loader=JsonLoader)  # noqa: S506 - a SafeLoader
        return jsontext.decode(jsontext.encode(document).encode())
    except OverLimitError as error:
        raise Unknown(f"Cannot read the configuration file '{path}', line {error.line}: {error}") from None
    except (yaml.YAMLError, AttributeError, LookupError, TypeError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        place = f", line {where.line + 1} column {where.column + 1}" if where else ""
        raise Unknown(
            f"The configuration file '{path}' is neither JSON ({json_error}) nor YAML "
            f"({type(error).__name__}{place})"
        ) from None
