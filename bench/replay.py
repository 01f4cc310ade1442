"""What `truecall replay` costs: memory at 10 and at 1,000 transcripts, and throughput on one core and on all of them.

    python bench/replay.py [--many 1000] [--calls 40] [--check]

The transcripts are made here: Claude Code's and Codex' by turns, each with `--calls` calls, answers of up to 4 KB,
and for every tenth of Claude Code's one of a few MB. Memory is the highest resident size of the parent and of the
largest of its workers (VmHWM; Linux). `--check` ends with 1 where it is more than 1.1 times that of ten transcripts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FEW, BOUND = 10, 1.1
CONTRACTS = """\
version: 1
contracts:
  - id: note-saved
    tool: mcp__notes__save_note
    post:
      - result: {of: text, contains: Saved}
      - file_exists: {path: "{{project}}/notes/{{args.name}}.md"}
  - id: tests-ran
    kind: shell
    when: {args.command: {runs: "pytest *"}}
    post: {tests: {output: pytest}}
  - id: written
    kind: write
    post: {file_exists: {path: "{{file.path}}"}}
  - id: says-tests-pass
    event: stop
    claims: ["tests pass"]
    kind: shell
    when: {args.command: {runs: "pytest *"}}
"""


def claude(number: int, calls: int, chance: random.Random) -> list[dict]:
    """The lines of one transcript of Claude Code."""
    base = {"sessionId": f"s{number}", "cwd": "/home/dev/app", "isSidechain": False, "version": "2.1.332"}
    lines: list[dict] = []
    for call in range(calls):
        turn = {**base, "promptId": f"p{call // 10}"}
        if call % 10 == 0:
            lines.append({**turn, "type": "user", "message": {"role": "user", "content": "Do the next task."}})
        name, args, answer = act(call, chance)
        if number % 10 == 0 and call == 5:
            answer["stdout"] = "x" * 3_000_000
        name = "Bash" if name == "exec_command" else name
        block = {"type": "tool_use", "id": f"toolu_{number}_{call}", "name": name, "input": args}
        lines.append({**turn, "type": "assistant", "message": {"id": f"m{call}", "content": [block]}})
        own = [{"type": "text", "text": answer["stdout"]}] if name.startswith("mcp__") else answer
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": answer["stdout"]}
        lines.append({**turn, "type": "user", "message": {"content": [result]}, "toolUseResult": own})
        if call % 10 == 9:
            said = {"type": "text", "text": "I have updated it, and all tests pass."}
            lines.append({**turn, "type": "assistant", "message": {"id": f"e{call}", "content": [said]}})
    return lines


def codex(number: int, calls: int, chance: random.Random) -> list[dict]:
    """The lines of one rollout of Codex."""
    about = {"id": f"s{number}", "session_id": f"s{number}", "cwd": "/home/dev/app"}
    lines: list[dict] = [{"type": "session_meta", "payload": about}]
    for call in range(calls):
        if call % 10 == 0:
            lines.append({"type": "event_msg", "payload": {"type": "task_started", "turn_id": f"t{call // 10}"}})
        name, args, answer = act(call, chance)
        asks = {"type": "function_call", "name": name, "call_id": f"call_{call}", "arguments": json.dumps(args)}
        if name.startswith("mcp__"):
            asks |= {"name": "save_note", "namespace": "mcp__notes"}
        if name == "exec_command":
            asks["arguments"] = json.dumps({"cmd": args["command"]})
        lines.append({"type": "response_item", "payload": asks})
        text = f"Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{answer['stdout']}"
        output = {"type": "function_call_output", "call_id": f"call_{call}", "output": text}
        lines.append({"type": "response_item", "payload": output})
        if call % 10 == 9:
            done = {"type": "task_complete", "turn_id": f"t{call // 10}", "last_agent_message": "All tests pass."}
            lines.append({"type": "event_msg", "payload": done})
    return lines


def act(call: int, chance: random.Random) -> tuple[str, dict, dict]:
    """(tool, arguments, answer) of one call."""
    noise = "".join(chance.choices("abcdefgh \n", k=chance.randrange(200, 4_000)))
    kind = call % 4
    if kind == 0:
        return "exec_command", {"command": "pytest -q"}, answer(f"{noise}\n12 passed in 0.31s\n")
    if kind == 1:
        return "mcp__notes__save_note", {"name": f"n{call}", "text": noise[:300]}, answer(f"Saved note 'n{call}'.")
    return "exec_command", {"command": f"make step{call}"}, answer(noise)


def answer(text: str) -> dict:
    return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}


def make(folder: str, many: int, calls: int) -> int:
    """Writes the transcripts; how many bytes they are."""
    chance, size = random.Random(7), 0
    for number in range(many):
        lines = (claude if number % 2 == 0 else codex)(number, calls, chance)
        path = os.path.join(folder, f"{number:05d}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        size += os.path.getsize(path)
    return size


def highest(pid: int) -> int:
    """The highest resident size of a process so far, in KB; 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("VmHWM:")), 0)
    except (OSError, ValueError):
        return 0


def children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(each) for each in file.read().split()]
    except OSError:
        return []


def run(folder: str, files: list[str], jobs: int | None) -> tuple[float, float, float]:
    """(seconds, MB of the parent, MB of its largest worker) of one replay."""
    argv = [sys.executable, "-m", "truecall_py", "replay", "--contracts", os.path.join(folder, "truecall.yaml")]
    argv += [*files, *(["--jobs", str(jobs)] if jobs else [])]
    began = time.monotonic()
    env = {**os.environ, "PYTHONPATH": ROOT}
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=env)
    parent, workers = 0, 0
    while process.poll() is None:
        parent = max(parent, highest(process.pid))
        workers = max([workers, *map(highest, children(process.pid))])
        time.sleep(0.01)
    if process.returncode not in (0, 1, 3):
        sys.exit(f"replay ended with {process.returncode}")
    return time.monotonic() - began, parent / 1024, workers / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "truecall.yaml"), "w", encoding="utf-8") as file:
            file.write(CONTRACTS)
        below = os.path.join(folder, "transcripts")
        os.mkdir(below)
        size = make(below, given.many, given.calls) / 1e6
        few = [os.path.join(below, name) for name in sorted(os.listdir(below))[:FEW]]
        print(f"{given.many} transcripts, {size:.0f} MB, {given.many * given.calls} calls")
        print(f"{'transcripts':>11} {'processes':>9} {'parent':>9} {'worker':>9} {'seconds':>8} {'per second':>22}")
        peaks = {}
        for count, files, jobs in ((FEW, few, None), (given.many, [below], None), (given.many, [below], 1)):
            seconds, parent, worker = run(folder, files, jobs)
            peaks.setdefault(count, (parent, worker))
            rate = f"{count / seconds:.0f} ({size * count / given.many / seconds:.0f} MB)"
            print(f"{count:>11} {jobs or 'all':>9} {parent:>6.1f} MB {worker:>6.1f} MB {seconds:>8.2f} {rate:>22}")
    ratios = [many / few for few, many in zip(*peaks.values(), strict=True)]
    print(f"memory at {given.many} over that at {FEW}: parent {ratios[0]:.3f}, largest worker {ratios[1]:.3f}")
    return int(given.check and max(ratios) > BOUND)


if __name__ == "__main__":
    sys.exit(main())
