"""Commands for operators, outside the protocol: `cpi COMMAND CONFIG_PATH …`; `command_line` lists them.

Each command is a module of this package. Its `main` gets the arguments that follow the command's name,
and returns the exit status. `command` runs it, `asking` calls AWS, `findings` reports.
"""
