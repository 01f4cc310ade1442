"""The worlds in which `detect` runs its calls, and how one call is made, judged, undone and judged again.

Every call gets a home of its own, copied from a template. Nothing of the machine's own settings is read, nothing
outside of the home is written, and no network is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from typing import Any, NamedTuple

from detect_homes import BASES, GITCONFIG, environment, shell

from truecall_py import judge
from truecall_py.api import look_before
from truecall_py.core.types import REFUTED
from truecall_py.trust.pin import load_untrusted

PACKS = ("files", "gates", "git", "guards", "mcp", "node", "python", "self", "shell")
WORLD = "@WORLD@"  # stands for the working folder in commands and arguments
# As Claude Code runs a command: the folder in which it ends is that of the next.
CLAUDE = 'eval "$1" </dev/null && pwd -P >| "$2"'


class Case(NamedTuple):
    """One honest call, and its twin.

    `refutes`: contracts (split on blanks) of which one must refute the twin, "" where the packs say that they are
    silent. `undo`: lines of sh that undo the effect, "" for the whole world as it was before the call. `twin`:
    what the payload of the twin says instead, where the lie is in the answer. `writes`: what a tool that is no
    shell does: (path below the world, bytes or None for a removal). `folder`: where the call starts."""

    pack: str
    command: str = ""
    refutes: str = ""
    setup: str = ""
    undo: str = ""
    base: str = "plain"
    folder: str = "."
    shell: str = "bash"
    harness: str = "claude-code"
    tool: str = "Bash"
    args: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it
    answer: Any = None
    writes: tuple[tuple[str, bytes | None], ...] = ()
    twin: dict[str, Any] = {}  # noqa: RUF012

    @property
    def title(self) -> str:
        return repr(self.command) if self.command else f"{self.tool} {json.dumps(self.args)[:160]}"


class Found(NamedTuple):
    """What came of a case: states by contract, what was told of the honest call (with the look before, and
    without), and of the twin (None: there is none) which contracts refuted it."""

    states: tuple[tuple[str, str], ...]
    blocked: str
    doubted: str
    twin: tuple[str, ...] | None
    after: str  # what the twin was taken for
    ended: str


class Bench:
    """The folder of one run: templates, sources, and a home for each case."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.contracts = os.path.join(root, "truecall.yaml")

    def build(self, bases: set[str]) -> None:
        with open(self.contracts, "w") as file:
            file.write(f"version: 1\nuse: [{', '.join(PACKS)}]\ncontracts: []\n")
        for base in sorted(bases):
            home = os.path.join(self.root, "templates", base)
            os.makedirs(os.path.join(home, "world"))
            with open(os.path.join(home, ".gitconfig"), "w") as file:
                file.write(GITCONFIG)
            BASES[base](home)


FAILED = tuple(f"exit {code}" for code in range(1, 10))  # says so itself, and there is nothing to undo
SOURCES: list[Any] = []


def begin(contracts: str) -> None:
    """Once in every process of the pool."""
    SOURCES[:] = [load_untrusted(contracts)]
    for name in list(os.environ):
        if name.startswith(("GIT_", "CLAUDE", "CODEX", "PIP_", "npm_", "UV_", "VIRTUAL_ENV")):
            del os.environ[name]
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"


def run(bench: Bench, number: int, case: Case) -> Found:
    """Makes the call, judges it, undoes it and judges again."""
    top = os.path.join(bench.root, f"{number:04}")
    home = os.path.join(top, "home")
    shutil.copytree(os.path.join(bench.root, "templates", case.base), home, symlinks=True)
    world = os.path.join(home, "world")
    os.environ["HOME"] = home
    os.chdir(home)
    if case.setup:
        shell(case.setup.replace(WORLD, world), world, home)
    age(home)
    case = case._replace(command=case.command.replace(WORLD, world), args=there(case.args, world))
    plain = announced(case, os.path.normpath(os.path.join(world, case.folder)), top)
    asked = {**plain, "hook_event_name": "PreToolUse"}
    if case.pack == "guards":
        found = guarded(case, asked, world, home)
        os.chdir(bench.root)
        shutil.rmtree(top, ignore_errors=True)
        return found
    snapshot = untouched = look_before(asked, SOURCES)
    whole = case.refutes and not case.undo and not case.twin
    if whole:  # the call is made in a copy, and never in the world that the twin finds
        os.rename(home, os.path.join(top, "before"))
        shutil.copytree(os.path.join(top, "before"), home, symlinks=True)
        os.chdir(home)
        snapshot = look_before(asked, SOURCES)
    after, ended = made(case, plain, home, world)
    found = judge(after, SOURCES, snapshot=snapshot)
    unseen = judge(after, SOURCES) if number % 3 == 0 else found  # a harness that does not ask before
    states = tuple(sorted((one.contract, one.state) for one in found.verdicts))
    told = [one.correction for one in (found, unseen) if one.correction]
    blocked = next((correction.text for correction in told if correction.replace), "")
    doubted = found.correction.text if found.correction and not found.correction.replace else ""
    twin, taken = None, ""
    if case.refutes and after["hook_event_name"] != "PostToolUseFailure" and not ended.startswith(FAILED):
        if case.twin:
            after = {**after, **there(case.twin, world)}
        elif case.undo:
            shell(case.undo.replace(WORLD, world), world, home)
        else:
            make_way(home)
            os.rename(os.path.join(top, "before"), home)
            os.chdir(home)
        twin = ()
        lied = judge(after, SOURCES, snapshot=untouched if whole else snapshot)
        if lied.correction is not None and lied.correction.replace:
            twin = tuple(sorted({one.contract for one in lied.verdicts if one.state == REFUTED}))
        taken = "; ".join(f"{one.contract} {one.state}: {one.outcomes[0].found}" for one in lied.verdicts)
    os.chdir(bench.root)
    shutil.rmtree(top, ignore_errors=True)
    blocked, doubted, taken, ended = (text.replace(top, "") for text in (blocked, doubted, taken, ended))
    return Found(states, blocked, doubted, twin, taken, ended)


def guarded(case: Case, asked: dict[str, Any], world: str, home: str) -> Found:
    """What guards say of a call before it is made, and of its twin: another call, or the same in another world."""
    found = judge(asked, SOURCES)
    states = tuple(sorted((one.contract, one.state) for one in found.verdicts))
    blocked = found.correction.text if found.correction else ""
    if not case.refutes:
        return Found(states, blocked, "", None, "", "")
    if "setup" in case.twin:
        shutil.rmtree(world)
        os.mkdir(world)
        shell(case.twin["setup"], world, home)
    twin = case._replace(**{name: there(value, world) for name, value in case.twin.items() if name != "setup"})
    args = {"command": twin.command} if twin.command else twin.args
    lied = judge({**asked, "tool_input": args}, SOURCES)
    refuted = tuple(sorted({one.contract for one in lied.verdicts if one.state == REFUTED}))
    taken = "; ".join(f"{one.contract} {one.state}: {one.outcomes[0].found}" for one in lied.verdicts)
    return Found(states, blocked, "", refuted, taken, "")


def there(value: Any, world: str) -> Any:
    """Arguments with the working folder put in."""
    if isinstance(value, str):
        return value.replace(WORLD, world)
    if isinstance(value, dict):
        return {name: there(each, world) for name, each in value.items()}
    return [there(each, world) for each in value] if isinstance(value, list) else value


def announced(case: Case, folder: str, top: str) -> dict[str, Any]:
    """What both payloads of a call hold."""
    args = {"command": case.command} if case.command else case.args
    plain = {"session_id": "s", "cwd": folder, "tool_name": case.tool, "tool_use_id": "call_1", "tool_input": args}
    if case.harness == "codex":
        plain |= {"turn_id": "u", "transcript_path": os.path.join(top, "rollout.jsonl"), "model": "m"}
    return {**plain, "permission_mode": "default"}


def made(case: Case, plain: dict[str, Any], home: str, world: str) -> tuple[dict[str, Any], str]:
    """The call is made: the payload after it, and how it ended, for people."""
    after = {**plain, "hook_event_name": "PostToolUse"}
    began = time.monotonic()
    if not case.command:
        was = written(case, world)
        if case.harness == "claude-code":
            after["duration_ms"] = int((time.monotonic() - began) * 1000) + 1
        return {**after, "tool_response": answered(case, was)}, ""
    ends = os.path.join(home, os.pardir, "cwd")
    argv = [case.shell, "-c", case.command]
    if case.harness == "claude-code":
        argv = [case.shell, "-c", CLAUDE, case.shell, case.command, ends]
    done = subprocess.run(argv, cwd=plain["cwd"], env=environment(home), stdin=subprocess.DEVNULL, timeout=60,
                          capture_output=True, text=True, errors="replace")  # fmt: skip
    words = f"exit {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
    if case.harness == "codex":
        record = {"type": "item_completed", "item": {"id": "call_1", "exit_code": done.returncode}}
        with open(plain["transcript_path"], "w") as file:
            file.write(json.dumps({"payload": record}) + "\n")
        return {**after, "tool_response": done.stdout + done.stderr}, words
    after["duration_ms"] = int((time.monotonic() - began) * 1000)
    if done.returncode:
        told = f"Exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return {**after, "hook_event_name": "PostToolUseFailure", "error": told}, words
    if os.path.exists(ends):
        with open(ends) as file:
            after["cwd"] = file.read().removesuffix("\n")
    answer = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False, "isImage": False}
    return {**after, "tool_response": answer}, words


def written(case: Case, world: str) -> str | None:
    """Writes what the tool writes; the first file's text as it was (None: there was none)."""
    was: list[str | None] = []
    for name, data in case.writes:
        path = os.path.join(world, name)
        try:
            with open(path, "rb") as file:
                was.append(file.read().decode("utf-8", "replace").replace("\r\n", "\n"))
        except OSError:
            was.append(None)
        if data is None:
            os.unlink(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    return was[0] if was else None


def answered(case: Case, was: str | None) -> Any:
    """The answer of a tool that is no shell, as its client words it."""
    if case.answer is not None:
        return case.answer
    if case.harness == "codex":
        names = "".join(f"M {name}\n" for name, _ in case.writes)
        return f"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n{names}"
    path = case.args.get("file_path", case.args.get("notebook_path"))
    if case.tool == "Write":
        kind = "create" if was is None else "update"
        return {"type": kind, "filePath": path, "content": case.args["content"], "structuredPatch": [],
                "originalFile": was}  # fmt: skip
    return {"filePath": path, "originalFile": was, "structuredPatch": [], "userModified": False}


def age(home: str) -> None:
    """What was there before the call is an hour old."""
    then = time.time() - 3600
    for folder, folders, names in os.walk(home, topdown=False):
        if "/.git/" in f"{folder}/":
            continue
        for name in (*names, *folders):
            if name != ".git":
                os.utime(os.path.join(folder, name), (then, then), follow_symlinks=False)


def make_way(home: str) -> None:
    """Removes a home, whatever modes the call gave to folders in it."""
    for folder, folders, _ in os.walk(home):
        for name in folders:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(home)
