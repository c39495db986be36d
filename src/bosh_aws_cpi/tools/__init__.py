"""Commands for operators, beside the protocol: `cpi COMMAND CONFIG_PATH …`; `__main__` has their names.

Each is a module of this package, whose `main` takes the arguments that follow its name.
"""
