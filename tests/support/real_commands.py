"""A command that a real shell runs in a small world, with the looks before and after it, as a harness asks for them."""

from __future__ import annotations

import os
import subprocess
import sys

from truecall_py import judge
from truecall_py.api import look_before
from truecall_py.core.types import REFUTED, VERIFIED
from truecall_py.trust.pin import load_untrusted

HERE = os.path.dirname(sys.executable)


def pack(name, folder):
    """One shipped pack, compiled as a person's file that uses it is."""
    path = folder / "truecall.yaml"
    path.write_text(f"version: 1\nuse: [{name}]\ncontracts: []\n")
    return [load_untrusted(str(path))]


def environment(home, path=""):
    return {"PATH": f"{path or HERE}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "UV_OFFLINE": "1", "UV_NO_CONFIG": "1",
            "NO_UPDATE_NOTIFIER": "1", "npm_config_offline": "true", "npm_config_audit": "false",
            "npm_config_fund": "false", "npm_config_update_notifier": "false",
            "npm_config_cache": f"{home}/.npm"}  # fmt: skip


class Call:
    """One command: announced, run and answered. `judged()` asks for a judgement of the world as it is by then."""

    def __init__(self, command, world, contracts, home, path=""):
        self.contracts = contracts
        self.plain = {"session_id": "s", "cwd": str(world), "tool_name": "Bash", "tool_use_id": "t",
                      "tool_input": {"command": command}, "hook_event_name": "PreToolUse"}  # fmt: skip
        self.snapshot = look_before(self.plain, contracts)
        self.done = subprocess.run(
            ["sh", "-c", command], cwd=world, env=environment(home, path), stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=60,
        )  # fmt: skip

    def judged(self):
        done = self.done
        if done.returncode:
            words = f"Exit code {done.returncode}\n{done.stdout}{done.stderr}"
            after = {**self.plain, "hook_event_name": "PostToolUseFailure", "error": words}
        else:
            answer = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False, "isImage": False}
            after = {**self.plain, "hook_event_name": "PostToolUse", "tool_response": answer}
        return judge(after, self.contracts, snapshot=self.snapshot)

    def honest(self, wanted):
        """No word, and these contracts (ids without the pack's prefix, split on blanks) verified it."""
        found = self.judged()
        told = [(verdict.contract, verdict.state, verdict.outcomes) for verdict in found.verdicts]
        assert found.correction is None, (found.correction.text, self.done)
        assert {verdict.state for verdict in found.verdicts} <= {VERIFIED}, told
        assert sorted(one.contract.partition("-")[2] for one in found.verdicts) == sorted(wanted.split()), self.done

    def refused(self, wanted):
        """The correction takes the place of the answer; these contracts refuted it."""
        found = self.judged()
        refuted = sorted({one.contract.partition("-")[2] for one in found.verdicts if one.state == REFUTED})
        assert refuted == sorted(set(wanted.split())), (found.verdicts, self.done)
        assert found.correction.replace and found.correction.text.startswith("NOT DONE")
        return found.correction.text
