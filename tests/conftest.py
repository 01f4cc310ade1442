"""The fixtures that every test may use."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("support", "e2e")  # before the first of them is imported

from support.project import Project  # noqa: E402


@pytest.fixture
def project(tmp_path):
    return Project(str(tmp_path))


@pytest.fixture(params=["claude-code", "codex"])
def harness(request):
    """Each of the harnesses, for behaviour that must be the same in both."""
    return request.param


@pytest.fixture(autouse=True)
def no_marks_of_an_agent(monkeypatch):
    """Tests behave alike whether a person or an agent runs them."""
    from truecall_py.cli.commands.trust import AGENT_MARKS

    for name in (*AGENT_MARKS, "CLAUDE_PROJECT_DIR", "TRUECALL_PYTHON"):
        monkeypatch.delenv(name, raising=False)
