"""What the interpreter does while its compiler's profile is taken: ``python training.py``.

The interpreter's package compiles it twice. In between it runs this, so that the second time the
compiler knows what a call of the CPI spends its time with: imports from bytecode, the creation of classes,
regular expressions, the SDK's data as JSON, a signed request, its response as XML, and logs. The CPI's own
code is not used, because each change of it would have every Director compile the interpreter again. Nothing
listens on a port, and nothing is read but the interpreter's own files.
"""

import copy
import datetime as dt
import email.parser
import hashlib
import hmac
import http.client
import importlib
import inspect
import io
import ipaddress
import json
import logging
import re
import socket
import sys
import threading
import typing
import urllib.parse
import uuid
import xml.etree.ElementTree as ET
from typing import Any

IMPORTED = (
    *("concurrent.futures", "configparser", "csv", "dis", "email.utils", "fractions", "getpass"),
    *("importlib.metadata", "importlib.resources", "mimetypes", "platform", "queue", "quopri", "secrets"),
    *("selectors", "shutil", "ssl", "stringprep", "subprocess", "tempfile", "urllib.request", "zipfile"),
    *("encodings.idna", "difflib", "calendar", "random", "zoneinfo", "base64", "decimal"),
)
"""What a call's libraries import besides what this does."""
OPERATIONS = 400
"""The SDK's data describes fewer once it is reduced; before that, more."""
CLASSES = 60
SHAPE = '''
import dataclasses, enum, functools, typing

@dataclasses.dataclass(frozen=True)
class RecordNUMBER:
    name: str
    size: "int | None" = None
    tags: dict = dataclasses.field(default_factory=dict)

class TupleNUMBER(typing.NamedTuple):
    first: str
    second: typing.Optional[int] = None

KindNUMBER = enum.Enum("KindNUMBER", {"ONE": "one-NUMBER", "TWO": "two-NUMBER"})

class ShapeNUMBER:
    """A description of NUMBER."""
    KIND: typing.ClassVar[str] = "kindNUMBER"
    OPTIONS = {"a": 1, "b": ("x", NUMBER), "c": [None, True, 2.5]}

    def __init__(self, name="n", *args, required=(), **rest):
        self.name, self.args, self.required = name, args, tuple(required)
        self.rest = {key: value for key, value in rest.items() if value is not None}

    @property
    def title(self):
        return f"{self.name!r}: {len(self.required):>3}"

    @functools.lru_cache(maxsize=8)
    def cached(self, key):
        return self.rest[key]

def functionNUMBER(first, second: "int | None" = None, *, third: bool = False) -> dict:
    found = [each for each in (first, second) if each]
    for index, each in enumerate(found):
        found[index] = each.upper().partition("-")[2] or each
    shape = ShapeNUMBER(found[0], size=len(found))
    shape.cached("size")
    getattr(shape, "absent", KindNUMBER("two-NUMBER"))
    record = dataclasses.replace(RecordNUMBER(shape.title), name=TupleNUMBER("b").first)
    return {"found": found, "equal": record == RecordNUMBER("b"), **ShapeNUMBER.OPTIONS}
'''
"""A module of a library, so to speak."""
RESERVATIONS = 12
ATTRIBUTES = ("instanceId", "imageId", "privateIpAddress", "subnetId", "instanceType", "launchTime")
PATTERNS = (
    r"(.)([A-Z][a-z]+)",
    r"([a-z0-9])([A-Z])",
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[^/:?#]+)(?::(?P<port>\d{1,5}))?(?P<path>/[^?#]*)?",
    r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$",
    r"^(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,7}:|::(?:[0-9a-f]{1,4}:){0,5}[0-9a-f]{1,4}$",
    r"^(?:i|vol|ami|snap|subnet|sg|eni)-(?:[0-9a-f]{8}|[0-9a-f]{17})$",
    r"\A\s*(?:#[^\n]*\n\s*)*(?P<key>[\w.-]+)\s*[:=]\s*(?P<value>\"(?:[^\"\\]|\\.)*\"|[^\s#]+)",
    r"(?:(?<=[a-z])|^)[-_ ]*(?:x{2,4}|y*?z+)(?=[^a-z]|$)",
)


def imports() -> None:
    """Import what a call's libraries import; a module that this interpreter lacks is no failure."""
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except ImportError as error:
            logging.getLogger("training").debug("%s", error)


def classes() -> None:
    """Create classes and functions as the libraries do: most of a call is that."""
    source = "\n".join(SHAPE.replace("NUMBER", str(number)) for number in range(CLASSES))
    namespace: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, "shapes", "exec"), namespace)  # noqa: S102 - the text above
    for number in range(CLASSES):
        inspect.signature(namespace[f"Record{number}"])
        typing.get_type_hints(namespace[f"Tuple{number}"])
        namespace[f"function{number}"]("x-a", None, third=number % 2 == 0)


def patterns() -> None:
    """Compile regular expressions, and use them."""
    texts = ("DescribeInstanceCreditSpecifications", "10.0.1.10", "https://ec2.test:443/a?b", "vol-0a0a0a0a")
    for pattern in PATTERNS:
        for flags in (0, re.DOTALL, re.IGNORECASE | re.MULTILINE):
            compiled = re.compile(pattern, flags)
            for text in texts:
                if found := compiled.search(text):
                    found.groups()
                compiled.sub("_", text)


def model() -> dict[str, Any]:
    """Return a document in the shape of the SDK's description of a service."""
    operations, shapes = {}, {}
    for number in range(OPERATIONS):
        name = f"DescribeThing{number}Attribute"
        operations[name] = {"name": name, "http": {"method": "POST"}, "input": {"shape": f"{name}Request"}}
        members = {
            f"Member{each}": {"shape": "String", "locationName": f"member{each}", "required": False}
            for each in range(number % 12)
        }
        shapes[f"{name}Request"] = {"type": "structure", "required": sorted(members)[:2], "members": members}
    return {"metadata": {"protocol": "ec2"}, "operations": operations, "shapes": shapes}


def client() -> None:
    """Read the description of a service, and make a client's methods of it."""
    text = json.dumps(model(), separators=(",", ":"))
    for _ in range(3):
        document = json.loads(text)
        methods: dict[str, Any] = {}
        for name in document["operations"]:
            partial = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
            methods[re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", partial).lower()] = lambda _self, **given: given
        type("Client", (object,), methods)().describe_thing7_attribute(first=1)
        copy.deepcopy(document["operations"])
    json.loads(json.dumps(document, indent=1), object_pairs_hook=dict)
    json.dumps({"result": ["i-0", {"\u00e9": None}], "error": None}, ensure_ascii=False, sort_keys=True)


def signed_request() -> tuple[str, dict[str, str]]:
    """Return the body and the headers of a request, signed as AWS wants it."""
    now = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    given = {"Action": "DescribeInstances", "Filter.1.Value.1": "a b/\u00e9", "InstanceId.1": "i-0"}
    body = urllib.parse.urlencode(sorted(given.items()))
    digest = hashlib.sha256(body.encode()).hexdigest()
    headers = {"X-Amz-Date": now.strftime("%Y%m%dT%H%M%SZ"), "Content-Type": "text/plain"}
    lines = [f"{key.lower()}:{value.strip()}" for key, value in sorted(headers.items())]
    canonical = "\n".join([*lines, digest])
    key = b"AWS4none"
    for part in (now.strftime("%Y%m%d"), "us-east-1", "ec2", "aws4_request", canonical):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    urllib.parse.urlsplit("https://user@ec2.us-east-1.amazonaws.com:443/path?query=1#fragment").geturl()
    return body, {**headers, "Authorization": f"AWS4-HMAC-SHA256 Signature={key.hex()}"}


def answer() -> bytes:
    """Return a response of EC2's API."""
    attributes = "".join(f"<{name}>some {name}</{name}>" for name in ATTRIBUTES)
    tags = "".join(f"<item><key>tag-{each}</key><value>a &amp; b</value></item>" for each in range(6))
    instance = f"<instancesSet><item>{attributes}<tagSet>{tags}</tagSet></item></instancesSet>"
    reservations = f"<reservationSet>{f'<item>{instance}</item>' * RESERVATIONS}</reservationSet>"
    response = '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
    return f'<?xml version="1.0"?>{response}{reservations}</DescribeInstancesResponse>'.encode()


def exchange() -> bytes:
    """Send a request through a pair of sockets, and return the body of its response."""
    ours, theirs = socket.socketpair()
    body = answer()

    def serve() -> None:
        with theirs, theirs.makefile("rb") as asked:
            head = b"".join(iter(asked.readline, b"\r\n"))
            length = email.parser.BytesParser().parsebytes(head.partition(b"\r\n")[2])["Content-Length"]
            asked.read(int(length))
            theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nServer: AmazonEC2\r\n")
            theirs.sendall(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    with ours:
        connection = http.client.HTTPConnection("ec2.us-east-1.amazonaws.com", timeout=60)
        connection.sock = ours
        text, headers = signed_request()
        connection.request("POST", "/", text, headers)
        received = connection.getresponse().read()
    server.join(60)
    return received


def parsed(node: ET.Element) -> Any:  # noqa: ANN401 - text, a list or a hash
    """Return an element of a response as the SDK does."""
    if not len(node):
        return node.text or ""
    if node.tag.endswith("Set"):
        return [parsed(child) for child in node]
    return {child.tag.partition("}")[2]: parsed(child) for child in node}


def calls() -> None:
    """Make some requests, and read their responses."""
    for _ in range(6):
        found = parsed(ET.fromstring(exchange()))  # noqa: S314 - from above
        for each in found["reservationSet"]:
            dt.datetime.fromisoformat("2026-01-02T03:04:05.000+00:00").astimezone(dt.UTC)
            ipaddress.ip_address("10.0.1.10") in ipaddress.ip_network("10.0.0.0/16")  # noqa: B015 - the work
            str(uuid.uuid5(uuid.NAMESPACE_OID, str(each)))


def logs() -> None:
    """Write a log, with a stack."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("training.calls")
    logger.addHandler(handler)
    for number in range(60):
        logger.warning("call %d of %s took %.3f s", number, {"action": "DescribeInstances"}, number / 7)


def main() -> None:
    """Do all of it."""
    for step in (imports, classes, patterns, client, calls, logs):
        step()
    sys.stdout.write("trained\n")


if __name__ == "__main__":
    main()
