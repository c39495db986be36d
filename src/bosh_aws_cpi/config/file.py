"""Reading the configuration file: JSON, or YAML, of which the Ruby CPI's files are a part."""

from bosh_aws_cpi import jsontext
from bosh_aws_cpi.errors import Unknown


def read(path: str) -> object:
    """Read the configuration file.

    Args:
        path: The file's path.

    Raises:
        Unknown: It is missing, unreadable, or neither JSON nor YAML. The message names the
            file and never quotes it.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - `info` would load pathlib for this alone
            raw = file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        message = f"Cannot read the configuration file '{path}': {reason}"
        raise Unknown(message) from None
    try:
        return jsontext.decode(raw)
    except jsontext.JsonTextError as error:
        return _read_yaml(path, raw, error)


def _read_yaml(path: str, raw: bytes, json_error: jsontext.JsonTextError) -> object:
    import yaml  # noqa: PLC0415 - not needed for JSON, the usual format

    class JsonLoader(yaml.SafeLoader):
        """Reads no dates, because JSON has none."""

        yaml_implicit_resolvers = {  # noqa: RUF012 - the library's own attribute
            first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    try:
        document = yaml.load(raw, Loader=JsonLoader)  # noqa: S506 - a SafeLoader
        return jsontext.decode(jsontext.encode(document).encode())
    except (yaml.YAMLError, RecursionError, AttributeError, LookupError, TypeError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        place = f", line {where.line + 1} column {where.column + 1}" if where else ""
        message = (
            f"The configuration file '{path}' is neither JSON ({json_error}) nor YAML "
            f"({type(error).__name__}{place})"
        )
        raise Unknown(message) from None
