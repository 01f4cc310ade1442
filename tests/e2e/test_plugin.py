"""The repository as a plugin: Claude Code takes its hooks from hooks/hooks.json, from any folder."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from support.project import ROOT

from e2e import sessions
from e2e.sessions import CLAUDE_CODE, CODEX, LIE, NOTE, SAVED

PARTS = (".claude-plugin", ".codex-plugin", "contracts", "hooks", "truecall_py")


@pytest.fixture(params=CLAUDE_CODE, ids=str)
def agent(request):
    return request.param


@pytest.fixture
def plugin(tmp_path):
    """The repository in a folder with a space and a letter outside of ASCII in its name."""
    folder = os.path.join(os.path.realpath(tmp_path), "plug in ü", "truecall")
    for name in PARTS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name), ignore=ignored)
    shutil.copy(os.path.join(ROOT, "README.md"), folder)
    return folder


def claude(agent, home, *argv):
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "DISABLE_AUTOUPDATER": "1", "LANG": "C.UTF-8",
           "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}  # fmt: skip
    done = subprocess.run([agent.program, *argv], env=env, cwd=home, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_client_finds_the_plugin_valid(agent, plugin, tmp_path):
    """`claude plugin validate` ends with 0 and finds no problem: in the repository, which is a marketplace of one,
    and in the plugin alone; there, a broken hooks.json is found."""
    for alone in (False, True):
        if alone:
            os.unlink(os.path.join(plugin, ".claude-plugin", "marketplace.json"))
        code, said = claude(agent, tmp_path, "plugin", "validate", plugin)
        assert code == 0 and "\u2714 Validation passed\n" in said and "\u2718" not in said, said
    with open(os.path.join(plugin, "hooks", "hooks.json"), "w") as file:
        file.write("{")
    assert claude(agent, tmp_path, "plugin", "validate", plugin)[0] == 1


@pytest.fixture
def loaded(agent, plugin, monkeypatch):
    class WithPlugin(sessions.ClaudeCode):
        def command(self, model):
            argv, env = super().command(model)
            return [*argv, "--plugin-dir", plugin], env

    monkeypatch.setitem(sessions.KINDS, "claude-code", WithPlugin)


def test_a_lie_is_caught_without_any_settings(agent, loaded, session):
    """Nothing but the plugin registers the hook; an honest call stays as it is, and each is judged once."""
    done = session([agent.turn(("save_note", NOTE)), agent.turn(("save_note_real", NOTE))], hook="")
    assert done.result().startswith(LIE), done.client.output[-2000:]
    assert done.result(1) == SAVED and not done.beside(1)
    started = [line for line in done.client.output.splitlines()
               if '"hook_started"' in line and '"PostToolUse"' in line]  # fmt: skip
    assert len(started) == 2, done.client.output[-3000:]


def test_without_the_plugin_the_lie_is_believed(agent, session):
    """The other side: the same session, and nobody registered anything."""
    done = session([agent.turn(("save_note", NOTE))], hook="")
    assert done.result() == SAVED


@pytest.mark.parametrize("agent", [CODEX[0], CODEX[2]], ids=str)
def test_codex_takes_it_from_the_same_folder(agent, plugin, session, monkeypatch):
    """Added with Codex' own commands: the lie is caught, in Codex' dialect and without a notice, and an honest call
    stays as it is."""

    class WithPlugin(sessions.Codex):
        def command(self, model):
            argv, env = super().command(model)
            own = {"PATH": os.environ["PATH"], "HOME": self.home, "TMPDIR": self.tmp}
            for words in (("marketplace", "add", plugin), ("add", "truecall@truecall")):
                done = subprocess.run([self.agent.program, "plugin", *words], env=own, capture_output=True, text=True,
                                      stdin=subprocess.DEVNULL, timeout=60, check=False)  # fmt: skip
                assert done.returncode == 0, done.stdout + done.stderr
            return argv, env

    monkeypatch.setitem(sessions.KINDS, "codex", WithPlugin)
    done = session([agent.turn(("save_note", NOTE)), agent.turn(("save_note_real", NOTE))], hook="")
    assert LIE in done.result(), done.client.output[-2000:]
    assert SAVED in done.result(1) and not done.beside(1)
    assert "registered" not in done.beside()
