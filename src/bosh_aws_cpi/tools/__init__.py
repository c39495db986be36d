"""Commands for operators, beside the protocol: `cpi COMMAND CONFIG_PATH …`."""

from typing import Final

COMMANDS: Final = frozenset({"preflight", "sweep"})
"""Each is a module of this package, whose `main` takes the arguments that follow its name."""
