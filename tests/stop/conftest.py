"""The fixtures of this room."""

from __future__ import annotations

import pytest
from support.turns import (
    Turn,
)


@pytest.fixture
def turn(project, harness):
    return Turn(project, harness)
