"""Run by .ci/run with an environment that holds only the built wheel: `verify` and one blocking hook call
from it. Usage: installed.py ENVIRONMENT"""

import json
import os
import subprocess
import sys
import tempfile

CONTRACTS = """\
version: 1
use: [files]
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.name}}.txt"}}
"""
PAYLOAD = {
    "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "mcp__notes__save_note", "tool_use_id": "t",
    "tool_input": {"name": "a"}, "tool_response": [{"type": "text", "text": "Saved."}],
}  # fmt: skip


def main(environment: str) -> int:
    python, truecall = (os.path.join(environment, "bin", name) for name in ("python", "truecall"))
    with tempfile.TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "HOME": folder, "CLAUDE_PROJECT_DIR": folder, "TRUECALL_PYTHON": python}
        with open(os.path.join(folder, "truecall.yaml"), "w") as file:
            file.write(CONTRACTS)
        with open(os.path.join(folder, "payload.json"), "w") as file:
            json.dump({**PAYLOAD, "cwd": folder}, file)

        def run(*argv: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
            return subprocess.run(argv, cwd=folder, env=env, input=stdin, capture_output=True, timeout=60)

        verified = run(truecall, "verify", "payload.json")
        assert verified.returncode == 1, verified
        assert b"REFUTED note-saved" in verified.stdout, verified
        assert run(truecall, "trust", "--yes").returncode == 0
        where = run(python, "-c", "from truecall_py.core.paths import launcher; print(launcher())").stdout.decode().strip()
        assert where.startswith(environment), where
        payload = json.dumps({**PAYLOAD, "cwd": folder}).encode()
        for argv in (("sh", where, "claude-code", "PostToolUse"), (truecall, "hook", "--harness", "claude-code")):
            answer = run(*argv, stdin=payload)
            assert answer.returncode == 0 and json.loads(answer.stdout)["decision"] == "block", answer
        os.mkdir(os.path.join(folder, "notes"))
        with open(os.path.join(folder, "notes", "a.txt"), "w") as file:
            file.write("x")
        silent = run("sh", where, "claude-code", "PostToolUse", stdin=payload)
        assert (silent.returncode, silent.stdout) == (0, b""), silent
    print("the installed wheel verifies, blocks the lie and lets the honest call through")
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
