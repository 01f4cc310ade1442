"""What truecall does to agents of a known character, with tools of a known character.

    python bench/mechanism.py [--seed 1] [--tasks 4] [--check]

Scripted agents (one obeys, one gives up after a polite word, one hammers, one switches the route, one repeats a
payment with a new key) work with tools that are honest, lie, fail honestly, time out after doing the work, or finish
late: saving an entry, and charging a card. Each event goes through the real hook in a process of its own, and the
world is a real database. The tables say what became of the tasks without truecall and with it.

This is a mechanism, not a claim about a model: the agents follow the rules that stand below, and how often a model
obeys an order is not measured here. `--check` ends with 1 where a true claim was replaced, a lie was not, a payment
was made twice, or truecall makes something worse.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.dirname(os.path.abspath(__file__))]

from mechanism_world import BEHAVIOURS, CHARGE, LIES, OTHER, SAVE, Answer, Tool, World  # noqa: E402

from truecall_py.trust import pin  # noqa: E402

CONTRACTS = """\
version: 1
{policy}
contracts:
  - id: saved
    tool: mcp__store__save
    post:
      - sqlite:
          file: "{{{{project}}}}/world.db"
          query: "SELECT 1 FROM effects WHERE task = ?"
          params: ["{{{{args.task}}}}"]
    within: 3s
    alternatives: [mcp__backup__save]
    grants: saved
  - id: charged
    tool: mcp__pay__charge
    key: "{{{{args.key}}}}"
    receipt:
      from:
        sqlite:
          file: "{{{{project}}}}/world.db"
          query: "SELECT task, route, key, state FROM effects WHERE task = ?"
          params: ["{{{{args.task}}}}"]
      match: {{task: "{{{{args.task}}}}"}}
      state: state
      states: {{completed: verified, pending: pending, rejected: refuted}}
      review: 1h
      owner: billing
"""
POLICIES = {
    "without": None,
    "observe": "mode: observe",
    "default": "",
    "strict": "policy: {retries: {other: 0, transient: 0}, session: 5, quarantine: {after: 1, ticks: 3}}",
    "patient": "policy: {retries: {other: 3, transient: 5}, session: 30, quarantine: {after: 0, ticks: 0}}",
}
ENFORCED = ("default", "strict", "patient")
KINDS = {SAVE: "saving", CHARGE: "paying"}
AGENTS = ("obeys", "gives up politely", "hammers", "switches route", "repeats payments")
AGAIN, SAME_KEY, NEW_KEY, ROUTE, DONE, TELL, LOOK = "again", "same key", "new key", "route", "done", "tell", "look"
MOST = 8  # calls that the most stubborn agent makes for one task


class Said(NamedTuple):
    """What an agent reads after a call, or instead of one. `form` is "" (the tool's answer alone), `beside` it,
    `instead` of it, or `refused` (nothing was called)."""

    answer: Answer | None
    text: str = ""
    form: str = ""


def order(text: str) -> str:
    """What a correction orders, as its own sentence says it."""
    order = text.partition("Do this now: ")[2].lower()
    if "another route" in order:
        return ROUTE
    if "stop this step" in order:
        return TELL
    if order.startswith(("look", "do not")):
        return LOOK
    if "same idempotency key" in order:
        return SAME_KEY
    return AGAIN if "again" in order or "once more" in order else TELL


def decide(agent: str, said: Said, calls: int, there: bool) -> str:
    """The next step of an agent after `calls` calls; `there` is what it sees if it looks."""
    good = said.answer is not None and said.answer.success
    corrected = bool(said.form)
    if not corrected and good:
        return DONE
    if agent == "hammers":
        return AGAIN if calls < MOST else TELL
    if agent == "switches route":
        return ROUTE if calls < 3 else TELL
    if agent == "repeats payments":
        return NEW_KEY if calls < 3 else TELL
    if not corrected:  # a failure, told by the tool alone
        return AGAIN if calls < 2 else TELL
    if agent == "gives up politely" and said.form == "beside" and good:
        return DONE  # as 84 % did after a polite word: the tool's claim is still there
    if agent == "gives up politely" and calls >= 2:
        return TELL
    wanted = order(said.text)
    if wanted == LOOK:
        again = "once more" in said.text and calls < MOST
        return DONE if there else AGAIN if again else TELL
    return wanted if calls < MOST else TELL


class Figures:
    """What became of tasks and calls. done: the effect is there once, and the agent says so; broken: it says so and
    nothing is there; doubled: it is there twice; told: nothing is there, and the agent says so; unclaimed: it is
    there, and the agent does not say that it is done. caught: lies whose claim was replaced; BLOCKED: claims that
    were true and were replaced."""

    NAMES = (
        "tasks", "done", "broken", "doubled", "told", "unclaimed", "calls", "lies", "caught", "honest", "BLOCKED",
    )  # fmt: skip

    def __init__(self) -> None:
        self.counts = dict.fromkeys(self.NAMES, 0)

    def add(self, other: Figures) -> None:
        for name, count in other.counts.items():
            self.counts[name] += count

    def task(self, count: int, claimed: bool) -> None:
        self.counts["tasks"] += 1
        fate = "doubled" if count > 1 else "done" if count and claimed else "unclaimed" if count else "told"
        self.counts["broken" if claimed and not count else fate] += 1

    def call(self, answer: Answer, form: str, there: bool) -> None:
        self.counts["calls"] += 1
        if answer.did == LIES and not there:
            self.counts["lies"] += 1
            self.counts["caught"] += form == "instead"
        elif answer.success and there:
            self.counts["honest"] += 1
            self.counts["BLOCKED"] += form == "instead"


class Session:
    """One agent with one kind of tool, for some tasks, with the hook beside it or without."""

    def __init__(self, folder: str, policy: str | None, agent: str, behaviour: str, seed: str) -> None:
        self.folder, self.agent, self.hooked = folder, agent, policy is not None
        self.world = World(folder)
        self.tool = Tool(self.world, behaviour, random.Random(seed))
        self.figures, self.number, self.turn = Figures(), 0, ""
        if policy is not None:
            path = os.path.join(folder, "truecall.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(CONTRACTS.format(policy=policy))
            pin.trust(pin.compile_file(path), os.path.join(folder, "state"))

    def hook(self, event: str, more: dict[str, Any]) -> dict[str, Any]:
        """The hook's answer to an event, {} where there is none."""
        if not self.hooked:
            return {}
        payload = {"session_id": "s", "cwd": self.folder, "prompt_id": self.turn, "hook_event_name": event, **more}
        argv = [os.path.join(ROOT, "hooks", "run.sh"), "claude-code", event, "--state",
                os.path.join(self.folder, "state")]  # fmt: skip
        env = {"PATH": os.environ["PATH"], "HOME": self.folder, "TRUECALL_PYTHON": sys.executable}
        done = subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, cwd=self.folder, env=env,
                              check=True)  # fmt: skip
        return dict(json.loads(done.stdout)) if done.stdout.strip() else {}

    def call(self, name: str, args: dict[str, Any]) -> Said:
        """One call with the hooks before and after it."""
        self.number += 1
        asked = {"tool_name": name, "tool_input": args, "tool_use_id": f"toolu_{self.number}"}
        before = self.hook("PreToolUse", asked).get("hookSpecificOutput", {})
        if before.get("permissionDecision") == "deny":
            self.batch(asked)
            return Said(None, before["permissionDecisionReason"], "refused")
        answer = self.tool.call(name, args)
        if answer.success:
            told = self.hook("PostToolUse", {**asked, "tool_response": [{"type": "text", "text": answer.text}]})
        else:
            told = self.hook("PostToolUseFailure", {**asked, "error": answer.text})
        inside = told.get("hookSpecificOutput", {})
        text = told.get("reason") or inside.get("additionalContext") or ""
        form = "" if not text else "instead" if "updatedToolOutput" in inside else "beside"
        self.figures.call(answer, form, self.world.count(args["task"]) > 0)
        self.batch(asked)
        return Said(answer, text, form)

    def batch(self, asked: dict[str, Any]) -> None:
        """The end of a batch of calls, as Claude Code tells it."""
        self.hook("PostToolBatch", {"tool_calls": [{**asked, "tool_response": "x"}]})

    def stop(self, task: str, held: bool) -> str:
        """Why the agent may not stop yet, "" where it may."""
        told = self.hook("Stop", {"prompt_id": task, "stop_hook_active": held, "last_assistant_message": "Finished."})
        return str(told.get("reason", "")) if told.get("decision") == "block" else ""

    def task(self, name: str, task: str) -> None:
        """One task, until the agent says that it is done, or tells the user that it is not, and may stop."""
        self.turn, route, keys, calls, held = task, name, 1, 0, False
        step = AGAIN
        while True:
            if step in (DONE, TELL):
                why = self.stop(task, held)
                if not why:
                    break
                said, held = Said(None, why, "instead"), True
            else:
                args: dict[str, Any] = {"task": task}
                if name == CHARGE:
                    args["key"] = f"{task}-{keys}"
                said = self.call(route, args)
                calls += 1
            step = decide(self.agent, said, calls, self.world.count(task) > 0)
            if step == ROUTE:
                route = OTHER[name] if route == name else name
            keys += step == NEW_KEY
        self.world.settle()
        self.figures.task(self.world.count(task), step == DONE)


def played(job: tuple[str, str, str, str, int, int]) -> Figures:
    """The figures of one session."""
    policy, agent, name, behaviour, seed, tasks = job
    with tempfile.TemporaryDirectory(prefix="mechanism-") as folder:
        # The same chance for every policy: what differs is what truecall does.
        chance = f"{seed} {agent} {name} {behaviour}"
        session = Session(os.path.realpath(folder), POLICIES[policy], agent, behaviour, chance)
        for number in range(tasks):
            session.task(name, f"task-{number}")
        return session.figures


def table(title: str, rows: dict[str, Figures]) -> str:
    lines = [f"{title:26}" + "".join(f"{name:>10}" for name in Figures.NAMES)]
    lines += [f"{name:26}" + "".join(f"{count:10}" for count in row.counts.values()) for name, row in rows.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=4, help="tasks of a session")
    parser.add_argument("--agent", choices=AGENTS, help="one agent only")
    parser.add_argument("--check", action="store_true", help="end with 1 where a figure is not as it must be")
    given = parser.parse_args()
    agents = [given.agent] if given.agent else AGENTS
    jobs = [(policy, agent, name, behaviour, given.seed, given.tasks)
            for policy in POLICIES for agent in agents for name in OTHER for behaviour in BEHAVIOURS]  # fmt: skip
    by_policy = {policy: Figures() for policy in POLICIES}
    names = (*KINDS.values(), *agents)
    parts = {f"{part}, {policy}": Figures() for part in names for policy in ("without", "default")}
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for (policy, agent, name, *_), figures in zip(jobs, pool.map(played, jobs), strict=True):
            by_policy[policy].add(figures)
            if policy in ("without", "default"):
                for part in (KINDS[name], agent):
                    parts[f"{part}, {policy}"].add(figures)
    print(f"seed {given.seed}: {len(agents)} agents, {len(BEHAVIOURS)} kinds of tools, saving and paying, "
          f"{given.tasks} tasks in each session\n")  # fmt: skip
    print(table("policy", by_policy))
    print(table("without truecall and with", parts))
    bad = wrong(by_policy, parts)
    print("\n".join(bad))
    return 1 if given.check and bad else 0


def wrong(by_policy: dict[str, Figures], parts: dict[str, Figures]) -> list[str]:
    """What is not as it must be."""
    found = []
    plain = by_policy["without"].counts
    for policy, figures in by_policy.items():
        counts = figures.counts
        if counts["BLOCKED"]:
            found.append(f"{policy}: {counts['BLOCKED']} claims that were true were replaced")
        if policy in ENFORCED:
            found += [f"{policy}: more is {name} than without truecall ({counts[name]}, not {plain[name]})"
                      for name in ("broken", "doubled") if counts[name] > plain[name]]  # fmt: skip
            if counts["caught"] < counts["lies"]:
                found.append(f"{policy}: {counts['lies'] - counts['caught']} lies were not caught")
    if paid := parts[f"{KINDS[CHARGE]}, default"].counts["doubled"]:
        found.append(f"default: {paid} payments were made twice")
    return found


if __name__ == "__main__":
    sys.exit(main())
