"""Becomes ``__main__.py`` of the installed folder: ``python lib CONFIG_PATH`` is the CPI."""

import sys

from bosh_aws_cpi.__main__ import main

sys.exit(main())
