"""`python install/generate` writes the generated files of the checkout that it lies in."""

from __future__ import annotations

import os
import sys

INSTALL = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.dirname(INSTALL), INSTALL]

from generate import files  # noqa: E402 - found by way of the path above

sys.exit(files.main())
