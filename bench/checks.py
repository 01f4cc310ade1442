"""What each check costs in one hook call, as a ratio to a bare interpreter, from one run on one machine.

    python bench/checks.py [--starts 15] [--write]

Each check's first verified example is played: its world is built, the look before the call is taken through the
registered command, and the call after it is judged through it again and again. `--write` stores each ratio as the
COST of its check, from which `python install/generate` makes docs/reference/checks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "tests")]

from support.check_examples import Handler, build, filled, quiet  # noqa: E402

from truecall_py import checks  # noqa: E402
from truecall_py.trust.pin import compile_file, trust  # noqa: E402

LAUNCHER = os.path.join(ROOT, "hooks", "run.sh")


class Played:
    """One example, ready to be judged again and again."""

    def __init__(self, base: Path, name: str, example: dict[str, Any]) -> None:
        self.world, self.state = base / "world", str(base / "state")
        self.world.mkdir(parents=True)
        pages = type("Pages", (Handler,), {"pages": example.get("serve")})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), pages)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        port = self.server.server_port
        self.env = {"PATH": os.environ["PATH"], "TRUECALL_PYTHON": sys.executable, **quiet(base),
                    "CLAUDE_PROJECT_DIR": str(self.world)}  # fmt: skip
        self.payload = {
            "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "mcp__a__b", "tool_use_id": "t",
            "tool_input": filled(example.get("args", {}), port), "tool_response": example.get("result"),
            "cwd": str(self.world),
        }  # fmt: skip
        os.environ.update(quiet(base))
        contract = {"id": "example", "tool": "mcp__a__b", "post": {name: filled(example["check"], port)}}
        contracts = {"version": 1, "contracts": [contract]}
        build(self.world, example.get("before", example))
        path = self.world / "truecall.yaml"
        path.write_text(json.dumps(contracts))
        trust(compile_file(str(path)), self.state)
        if "before" in example:
            self.hook("PreToolUse")
            build(self.world, example)

    def hook(self, event: str = "PostToolUse") -> float:
        """Seconds of one hook call, which must have nothing to say."""
        argv = ["sh", LAUNCHER, "claude-code", event, "--state", self.state]
        data = json.dumps({**self.payload, "hook_event_name": event}).encode()
        began = time.perf_counter()
        done = subprocess.run(argv, input=data, capture_output=True, env=self.env, cwd=self.world, check=True)
        took = time.perf_counter() - began
        if done.stdout:
            raise SystemExit(f"this would measure something else: {done.stdout[:300]!r}")
        return took


def bare() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True, env={"PATH": os.environ["PATH"]})
    return time.perf_counter() - began


def measure(starts: int) -> dict[str, float]:
    """The ratio of every check."""
    with tempfile.TemporaryDirectory() as made:
        base = Path(os.path.realpath(made))
        rows = {}
        for name in checks.NAMES:
            example = next(each for each in checks.load_check(name).EXAMPLES if each["verdict"] == "verified")
            rows[name] = Played(base / name, name, example)
        times: dict[str, list[float]] = {name: [] for name in ("bare", *rows)}
        for _ in range(starts + 1):
            times["bare"].append(bare())
            for name, played in rows.items():
                times[name].append(played.hook())
        medians = {name: statistics.median(found[1:]) for name, found in times.items()}
        return {name: round(medians[name] / medians["bare"], 1) for name in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="store the ratios in the modules of the checks")
    options = parser.parse_args()
    ratios = measure(options.starts)
    for name, ratio in ratios.items():
        print(f"{name:14} {ratio:6.1f} x bare")
        if options.write:
            path = Path(checks.load_check(name).__file__ or "")
            path.write_text(re.sub(r"(?m)^COST = .*$", f"COST = {ratio}", path.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
