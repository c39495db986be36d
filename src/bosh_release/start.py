"""Becomes ``__main__.py`` of the installed folder: ``python lib CONFIG_PATH`` is the CPI."""

from bosh_aws_cpi.__main__ import run

run()
