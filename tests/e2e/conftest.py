"""Sessions of real clients, which are downloaded: only `-m e2e` runs these."""

from __future__ import annotations

import functools
import os
import pathlib

import pytest

from e2e import sessions

HERE = pathlib.Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("e2e")


@pytest.fixture
def session(agent, tmp_path):
    """Runs a session of the client that the test's module names as `agent`; a second one has the same paths."""
    return functools.partial(sessions.run, agent, os.path.join(os.path.realpath(tmp_path), "e2e"))


def pytest_terminal_summary(terminalreporter):
    """A client that could not be downloaded is named at the end of the run, whatever the options."""
    skipped = terminalreporter.stats.get("skipped", [])
    for reason in sorted({report.longrepr[2] for report in skipped if "NOT TESTED with" in report.longrepr[2]}):
        terminalreporter.write_line(reason.removeprefix("Skipped: "), yellow=True, bold=True)
