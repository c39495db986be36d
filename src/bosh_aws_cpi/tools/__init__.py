"""Commands for operators, outside the protocol: `cpi COMMAND CONFIG_PATH …`; `__main__` lists them.

Each is a module of this package, whose `main` gets the arguments that follow the command's name.
"""
