"""The fixtures of this room."""

from __future__ import annotations

from typing import Any

import pytest
from support.doctor import GOOD


@pytest.fixture
def healthy(person: Any) -> Any:
    """A project with a trusted contract file."""
    person.trust(GOOD)
    return person
