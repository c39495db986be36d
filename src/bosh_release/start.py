"""The ``__main__.py`` of the installed folder: ``python lib CONFIG_PATH`` runs the CPI."""

from bosh_aws_cpi.__main__ import hold_signals, run

hold_signals()

import stored_regexes  # type: ignore[import-not-found] # noqa: E402 - in the same folder, when installed

stored_regexes.use(__file__.rpartition("/")[0])
run()
