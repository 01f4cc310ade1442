"""The fixtures of this room."""

from __future__ import annotations

import pytest
from support.payments import (
    CONTRACT,
    Agent,
    Service,
)


@pytest.fixture
def bank():
    service = Service()
    yield service
    service.close()


@pytest.fixture
def agent(project, bank, harness):
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    return Agent(project, harness)


@pytest.fixture
def claude(project, bank):
    project.trust(CONTRACT.replace("PORT", str(bank.port)))
    return Agent(project)
