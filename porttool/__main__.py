"""`python -m porttool` is `porttool`."""

from __future__ import annotations

import sys

from porttool.cli import main

sys.exit(main())
