"""What the hook imports for one payload."""

from __future__ import annotations

import json
import subprocess
import sys

from support.project import PATIENCE, ROOT

# Started as run.sh starts it; what was loaded comes after the answer.
DRIVER = """\
import sys
before = set(sys.modules)
sys.path.append(sys.argv.pop(1))
from truecall_py.hook.main import main
main(sys.argv[1:])
sys.stderr.write("\\n".join(sorted(set(sys.modules) - before)))
"""
NEVER = {
    "click", "rich", "yaml", "jsonschema", "re", "json", "dataclasses", "typing", "pathlib", "subprocess", "logging",
    "enum", "hashlib", "importlib.metadata", "argparse", "inspect", "collections", "functools", "contextlib",
    "tempfile", "shutil", "signal", "socket", "http.client", "sqlite3", "threading", "traceback", "warnings",
    "truecall_py.contract_files.loader", "truecall_py.trust.pin", "truecall_py.shell.commands", "truecall_py.world.run_program", "truecall_py.world.http",
}  # fmt: skip


def loaded(project, payload, harness="claude-code"):
    """The modules that one hook call loads beyond a bare interpreter, and its answer."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", DRIVER, ROOT, harness, "PostToolUse"], input=json.dumps(payload).encode(),
        capture_output=True, timeout=PATIENCE, cwd=project.root, env=project.environment(harness), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done
    modules = set(done.stderr.decode().split("\n"))
    return modules - {name.rpartition(".")[0] for name in modules}, done.stdout  # a package counts with its modules
