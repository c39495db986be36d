"""Becomes ``__main__.py`` of the installed folder: ``python lib CONFIG_PATH`` is the CPI."""

from bosh_aws_cpi.__main__ import hold_signals, run

hold_signals()

import stored_regexes  # type: ignore[import-not-found] # noqa: E402 - beside it, when installed

stored_regexes.use(__file__.rpartition("/")[0])
run()
