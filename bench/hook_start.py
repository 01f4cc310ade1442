"""What one hook call costs, as ratios to a bare interpreter, from one run on one machine.

    python bench/hook_start.py [--starts 41] [--check] [--clean]

Every figure is the median over alternating starts (one of each kind, then again), through the registered
command, launcher included. `--check` ends with 1 where a figure is above its bound. Peak memory is that of the
Python process, asked of the kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from truecall_py.trust.pin import compile_file, trust  # noqa: E402

CLEAN = "--clean" in sys.argv
LAUNCHER = os.path.join(ROOT, "hooks", "run.sh")
START = os.path.join(ROOT, "hooks", "start.py")
PACKAGES = "import click, yaml, jsonschema, rich.console, rich.table, rich.panel"

ONE = """\
version: 1
contracts:
  - id: there
    tool: mcp__notes__save_note
    post: {file_exists: {path: "{{project}}/notes/{{args.name}}.txt"}}
"""
# (row, what it is measured against, bound)
BOUNDS = (
    ("no contract applies", "bare", 2.5),
    ("one file_exists verified", "bare", 3.5),
    ("one block", "bare", 4.0),
    ("200 contracts, none applies", "no contract applies", 1.1),
    ("200 contracts, one verified", "one file_exists verified", 1.1),
    ("1 MB payload, none applies", "no contract applies", 1.5),
    ("1 MB payload, one verified", "one file_exists verified", 1.5),
    ("before, nothing to look at", "no contract applies", 1.1),
    ("before, one fact looked at", "bare", 3.5),
    ("no contract applies", "no ledger, no contract applies", 1.5),
    ("one file_exists verified", "no ledger, one verified", 1.5),
    ("before, nothing to look at", "no ledger, before", 1.5),
)


def many(count: int) -> str:
    extra = "".join(
        f"  - id: other-{number}\n    tool: mcp__other__tool_{number}\n    description: does what it says, {number}\n"
        f'    post: {{file_exists: {{path: "{{{{project}}}}/out/{number}-{{{{args.name}}}}.txt"}}}}\n'
        for number in range(count - 1)
    )
    return ONE + extra


def payload(folder: str, tool: str, name: str, size: int = 0) -> bytes:
    return json.dumps(
        {
            "session_id": "00000000-0000-4000-8000-000000000001", "cwd": folder, "hook_event_name": "PostToolUse",
            "tool_name": tool, "tool_input": {"name": name, "text": "x" * size},
            "tool_response": [{"type": "text", "text": "Saved."}], "tool_use_id": "toolu_1", "duration_ms": 3,
        }
    ).encode()  # fmt: skip


def nameless(data: bytes) -> bytes:
    """The payload of a session without a name: of it nothing is remembered."""
    return data.replace(b"00000000-0000-4000-8000-000000000001", b"")


def again(data: bytes) -> bytes:
    """The payload of another call."""
    return data.replace(b"toolu_1", b"toolu_2")


class Case:
    """One row: a command, its input, and the times of its starts."""

    def __init__(self, argv: list[str], stdin: bytes = b"", folder: str = "/", answers: bool | None = None) -> None:
        self.argv, self.stdin, self.folder, self.answers = argv, stdin, folder, answers
        self.times: list[float] = []

    def start(self) -> None:
        # A client hands its own environment on, so every row is started in the one that is here. With --clean in
        # an empty one: Python does not care, node does, where the environment makes it load certificates.
        given = {"PATH": os.environ["PATH"]} if CLEAN else os.environ
        env = {**given, "HOME": self.folder, "CLAUDE_PROJECT_DIR": self.folder, "TRUECALL_PYTHON": sys.executable}
        began = time.perf_counter()
        done = subprocess.run(self.argv, input=self.stdin, capture_output=True, env=env, check=True)
        self.times.append(time.perf_counter() - began)
        if self.answers is not None and bool(done.stdout) is not self.answers:
            raise SystemExit(f"{self.argv} answered {done.stdout[:200]!r}: this would measure something else")

    @property
    def median(self) -> float:
        return statistics.median(self.times[1:])


def peak(case: Case) -> float:
    """Peak resident memory in MB of the Python process alone."""
    script = (
        "import os,resource,subprocess,sys; subprocess.run(sys.argv[1:], stdin=0, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    argv = [sys.executable, "-c", script, sys.executable, "-I", "-S", START, *case.argv[2:]]
    env = {"PATH": os.environ["PATH"], "HOME": case.folder, "CLAUDE_PROJECT_DIR": case.folder}
    out = subprocess.run(argv, input=case.stdin, capture_output=True, env=env, check=True).stdout
    return int(out) / (1024 if sys.platform == "linux" else 1024 * 1024)


def world(root: str, name: str, text: str) -> tuple[str, str]:
    folder = os.path.join(root, name)
    os.makedirs(os.path.join(folder, "notes"))
    for path, content in (("truecall.yaml", text), ("notes/there.txt", "x")):
        with open(os.path.join(folder, path), "w") as file:
            file.write(content)
    state = os.path.join(root, f"{name}-state")
    trust(compile_file(os.path.join(folder, "truecall.yaml")), state)
    return folder, state


def cases(root: str) -> dict[str, Case]:
    def hook(where: tuple[str, str], stdin: bytes, answers: bool, event: str = "PostToolUse") -> Case:
        argv = ["sh", LAUNCHER, "claude-code", event, "--state", where[1]]
        stdin = stdin.replace(b'"PostToolUse"', f'"{event}"'.encode())
        return Case(argv, stdin, where[0], answers)

    one, lots = world(root, "one", ONE), world(root, "lots", many(200))
    note, other = "mcp__notes__save_note", "mcp__notes__other"
    found = {
        "bare": Case([sys.executable, "-I", "-S", "-c", "pass"]),
        "no contract applies": hook(one, payload(one[0], other, "there"), False),
        "one file_exists verified": hook(one, payload(one[0], note, "there"), False),
        "one block": hook(one, payload(one[0], note, "missing"), True),
        "200 contracts, none applies": hook(lots, payload(lots[0], other, "there"), False),
        "200 contracts, one verified": hook(lots, payload(lots[0], note, "there"), False),
        "1 MB payload, none applies": hook(one, payload(one[0], other, "there", 1 << 20), False),
        "1 MB payload, one verified": hook(one, payload(one[0], note, "there", 1 << 20), False),
        "8 MB payload, one verified": hook(one, payload(one[0], note, "there", 8 << 20), False),
        "before, nothing to look at": hook(one, payload(one[0], other, "there"), False, "PreToolUse"),
        "before, one fact looked at": hook(one, again(payload(one[0], note, "elsewhere")), False, "PreToolUse"),
        "no ledger, no contract applies": hook(one, nameless(payload(one[0], other, "there")), False),
        "no ledger, one verified": hook(one, nameless(payload(one[0], note, "there")), False),
        "no ledger, before": hook(one, nameless(payload(one[0], other, "there")), False, "PreToolUse"),
        "import of the four packages": Case([sys.executable, "-I", "-c", PACKAGES]),
    }
    if shutil.which("node"):
        found["node -e 0"] = Case(["node", "-e", "0"])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=41)
    parser.add_argument("--check", action="store_true", help="end with 1 where a figure is above its bound")
    parser.add_argument("--clean", action="store_true", help="start every row in an empty environment")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        rows = cases(os.path.realpath(made))
        for _ in range(max(options.starts, 30) + 1):
            for case in rows.values():
                case.start()
        bare = rows["bare"].median
        print(f"Python {sys.version.split()[0]}, {sys.platform}, {max(options.starts, 30)} alternating starts each")
        print(f"{'':<30} {'ms':>8} {'x bare':>8} {'peak MB':>8}")
        for name, case in rows.items():
            memory = f"{peak(case):8.1f}" if LAUNCHER in case.argv else f"{'':>8}"
            print(f"{name:<30} {case.median * 1000:8.2f} {case.median / bare:8.2f} {memory}")
        bounds = [(name, rows[name].median / rows[base].median, base, limit) for name, base, limit in BOUNDS]
        both = [sum(rows[name].median for name in names) for names in (
            ("no contract applies", "before, nothing to look at"),
            ("no ledger, no contract applies", "no ledger, before"),
        )]  # fmt: skip
        bounds.append(("the ledger, before and after a call", both[0] / both[1], "the same without it", 1.5))
        hooks = [name for name, _, _ in BOUNDS]
        worst = max(rows[name].median for name in hooks)
        for base, share in (("node -e 0", 0.5), ("import of the four packages", 0.25)):
            if base in rows:
                bounds.append(("the dearest of these", worst / rows[base].median, base, share))
        memory = peak(rows["no contract applies"])
        bounds.append(("peak at 1 kB", memory, "1 MB", 25.0))
        failed = False
        print()
        for name, ratio, base, limit in bounds:
            failed |= ratio > limit
            print(f"{'ok ' if ratio <= limit else 'NOT'} {name}: {ratio:.2f} x {base} (bound {limit})")
    return 1 if failed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
