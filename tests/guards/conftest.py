"""The fixtures of this room."""

from __future__ import annotations

import pytest
from support.guards import Asker


@pytest.fixture
def asker(project, harness):
    return Asker(project, harness)
