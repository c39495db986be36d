"""The profiling workload for the build of CPython, similar to a call of the CPI.

This is not the CPI's own code, because each change would make every Director compile the interpreter again.
"""

import hashlib
import hmac
import importlib
import json
import logging
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

MODULES = """
ast base64 calendar concurrent.futures copy csv datetime decimal difflib email.parser encodings.idna fractions
http.client importlib.metadata importlib.resources inspect ipaddress mimetypes platform queue random shutil
socket ssl stringprep tempfile threading typing urllib.request uuid zipfile zoneinfo
"""
CLASSES = """
import dataclasses, enum, functools, typing
@dataclasses.dataclass(frozen=True)
class Record:
    name: str
    tags: dict = dataclasses.field(default_factory=dict)
class Shape(typing.NamedTuple("Pair", [("name", str), ("members", list)])):
    KIND: typing.ClassVar[str] = "shape"
    @functools.lru_cache
    def title(self, *names, default=None):
        found = [each.upper().partition("-")[2] or each for each in names if each is not None]
        return f"{self.name!r}: {len(found):>3}", {**dict(enumerate(found)), "default": default}
Kind = enum.Enum("Kind", {"ONE": "one", "TWO": "two"})
functions = [lambda self, value=n, **given: getattr(self, "absent", {**given, "v": value}) for n in range(99)]
results = [each(Record("a"), second=Kind("two")) for each in functions], Shape("a", ()).title("x-y", None)
"""
PATTERNS = r"(.)([A-Z][a-z]+)", r"^(?:i|vol)-(?P<id>[0-9a-f]{8,17})$", r"(?<=a)\s*=\s*('(?:[^']|\\.)*'|\w+)"
SHAPE = {"type": "structure", "members": {"Name": {"shape": "String", "locationName": "name"}}}
ITEM = "<item><instanceId>i</instanceId><tagSet><item><key>a</key><value>&amp;</value></item></tagSet></item>"

if len(sys.argv) == 1:  # several times, because the start counts as much as the work
    for _ in range(3):
        subprocess.run([sys.executable, "-I", "-S", __file__, "once"], check=True)  # noqa: S603 - itself
    sys.exit()
for module in MODULES.split():
    importlib.import_module(module)
for number in range(60):
    exec(CLASSES.replace("Record", f"Record{number}"), {"__name__": __name__})  # noqa: S102 - from above
    for pattern in PATTERNS:
        re.sub(f"{pattern}|{number}", "_", "DescribeInstances vol-0123456789 a = 'b'", flags=re.MULTILINE)
    hmac.new(b"key", repr(sorted(SHAPE.items())).encode(), hashlib.sha256).hexdigest()
    logging.getLogger("calls").warning("call %d took %.3f s", number, number / 7)
for _ in range(3):
    document = json.loads(json.dumps({f"DescribeShape{number}": SHAPE for number in range(900)}))
    methods = {re.sub(PATTERNS[0], r"\1_\2", name).lower(): dict(shape) for name, shape in document.items()}
    root = ET.fromstring(f"<set xmlns='http://ec2'>{ITEM * 99}</set>")  # noqa: S314 - from above
    texts = {each.tag.partition("}")[2]: each.text or list(each) for each in root.iter()}
