"""The fixtures of this room."""

from __future__ import annotations

import pytest
from support.stories import LIES, Story


@pytest.fixture
def story(project, harness):
    project.trust(LIES)
    return Story(project, harness)
