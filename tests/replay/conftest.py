"""The fixtures of this room."""

from __future__ import annotations

from typing import Any

import pytest
from support.transcripts import CONTRACTS


@pytest.fixture
def contracts(project: Any) -> Any:
    project.write("truecall.yaml", CONTRACTS)
    return project
