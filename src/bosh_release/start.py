"""Becomes ``__main__.py`` of the installed folder: ``python lib CONFIG_PATH`` is the CPI."""

import stored_regexes  # type: ignore[import-not-found] # beside it, when installed

stored_regexes.use(__file__.rpartition("/")[0])

from bosh_aws_cpi.__main__ import run  # noqa: E402 - what it loads uses them

run()
