"""The stand-in for AWS as a process: `python -m testbed.moto_server`.

Prints one line, `listening on http://127.0.0.1:PORT`, when it is ready. Ends on
SIGTERM and at the end of its standard input, so that it never outlives what
started it.
"""

import functools
import importlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Generator
from typing import ClassVar, NoReturn

# moto's own images are hundreds, and are created again at every reset; it must be
# told before it is imported.
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")

from moto import backends
from moto.core import errors, responses, serialize
from moto.core.base_backend import AccountSpecificBackend
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import BaseWSGIServer, make_server

from testbed import moto_patches
from testbed.middleware import Middleware
from testbed.moto_patches.patching import Patch, install
from testbed.program_calls import ProgramCalls

HOST = "127.0.0.1"


def create(program_calls: ProgramCalls) -> BaseWSGIServer:
    """Make the server, on a free port."""
    moto = DomainDispatcherApplication(create_backend_app)
    application = Middleware(moto, program_calls)
    return make_server(HOST, 0, application, threaded=True, request_handler=MotoRequestHandler)


class Picker(serialize.XFormedAttributePicker):
    """Remembers the names by which moto looks for a member of an answer: the shape and the class say them."""

    names: ClassVar[dict[object, tuple[str, ...]]] = {}

    def get_possible_keys(self, context: serialize.AttributePickerContext) -> Generator[str]:
        """Yield the names."""
        member = (context.shape, context.key, type(context.obj))
        if member not in self.names:
            self.names[member] = tuple(dict.fromkeys(super().get_possible_keys(context)))
        yield from self.names[member]


def remember() -> None:
    """Let moto compute once what never changes: it does at each call, or after each reset."""
    modules = frozenset(backends.list_of_moto_modules())
    install(Patch(backends, "list_of_moto_modules", lambda _: modules))
    install(
        Patch(AccountSpecificBackend, "_generate_regions", lambda regions, _, service: regions(None, service))
    )
    install(Patch(responses, "XFormedAttributePicker", lambda _, **given: Picker(**given)))
    unchanging = [
        (errors, "ErrorLookupFactory"),
        (responses, "method_names_from_class"),
        (importlib.import_module("xmltodict"), "_validate_name"),
    ]
    for owner, name in unchanging:
        setattr(owner, name, functools.cache(getattr(owner, name)))


def end(*_: object) -> NoReturn:
    """End the process on a signal."""
    sys.exit(0)


def end_with_parent(server: BaseWSGIServer) -> None:
    """Shut the server down when standard input ends."""
    # Not through sys.stdin: its lock, held here, would break the interpreter's end on a signal.
    while os.read(0, 1024):
        pass
    server.shutdown()


def main() -> None:
    """Serve until told to end."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    signal.signal(signal.SIGTERM, end)
    moto_patches.apply()
    remember()
    program_calls = ProgramCalls()
    server = create(program_calls)
    threading.Thread(target=end_with_parent, args=(server,), daemon=True).start()
    print(f"listening on http://{HOST}:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    finally:
        program_calls.write()


if __name__ == "__main__":
    main()
