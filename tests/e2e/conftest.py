from __future__ import annotations

import functools
import os

import pytest

from e2e import clients, sessions


@pytest.fixture
def session(agent, tmp_path):
    """Runs a session of the client that the test's module names as `agent`; a second one has the same paths."""
    return functools.partial(sessions.run, agent, os.path.join(os.path.realpath(tmp_path), "e2e"))


def pytest_terminal_summary(terminalreporter):
    """A client that could not be had is named at the end of the run, whatever the options."""
    for (package, version), reason in clients.missing.items():
        terminalreporter.write_line(f"NOT TESTED with {package} {version}: {reason}", yellow=True, bold=True)
