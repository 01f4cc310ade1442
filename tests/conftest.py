"""The fixtures that every test may use."""

from __future__ import annotations

import os
from typing import Any

import pytest
from support.http_server import Server, answer
from support.project import Project


@pytest.hookimpl(optionalhook=True)  # the mutants run without xdist
def pytest_xdist_auto_num_workers(config):
    """Half as many workers again as cores: most tests wait for a process of their own."""
    return (os.cpu_count() or 2) * 3 // 2


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
    from truecall_py.cli.options import list_agent_variables

    for name in (*list_agent_variables(), "CLAUDE_PROJECT_DIR", "TRUECALL_PYTHON"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    """Starts servers: `server(reply)`, where reply is bytes, a map from path to bytes, or a function."""
    started = []

    def start(reply):
        def write(line, asked, self):
            if callable(reply):
                reply(line, asked, self)
            elif isinstance(reply, dict):
                line.sendall(reply.get(asked.split(" ")[1], answer(404)))
            else:
                line.sendall(reply)

        started.append(Server(write))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def person(project: Any) -> Any:
    """A project whose home and state are the person's; XDG_CONFIG_HOME is not set."""
    project.env.pop("XDG_CONFIG_HOME")
    return project
