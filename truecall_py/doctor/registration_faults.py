"""What is wrong with a registration, as far as files tell it: what would keep a client from running our command,
or run it twice. Never starts anything and never changes anything."""

from __future__ import annotations

import json
import os
import shutil

from truecall_py.clients.registration import PLUGIN, SCRIPT, quoted
from truecall_py.core import atomic_write
from truecall_py.core.errors import TruecallError
from truecall_py.core.types import AT_STOP, DEADLINE, STOPS
from truecall_py.doctor import disabled_hooks, registrations
from truecall_py.doctor.registrations import ERROR, NOTE, OK, PLUGIN_SCOPE, WARNING, Finding, Handler, Inventory
from truecall_py.setup import codex_trust, plan, settings_rules
from truecall_py.setup.jsonc import Document, SettingsError, place
from truecall_py.setup.plan import PROJECT, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

MARGIN = 2.0  # seconds that a client must wait longer than the hook works
EVERY = (None, "", "*", ".*")
PYTHON, RUN = "TRUECALL_PYTHON", 0o111
# The largest time-out that a client was seen to count with: one above it ends every hook at once.
LONGEST = {"claude-code": (disabled_hooks.OLD, 2147483.647), "gemini-cli": ("Gemini CLI", 2147483647),
           "qwen-code": ("Qwen Code", 2147483647)}  # fmt: skip
# What a client tells no hook (docs/reference/clients.md).
UNTOLD = {
    "codex": "Codex tells no hook of a patch that failed, of an MCP tool's error, of an apply_patch inside a shell "
    "command, and of a command that was still running: such calls are judged at the stop alone",
    "opencode": "OpenCode tells its plugin nothing of a call that failed: such calls are not judged",
}


def mending(handler: Handler) -> str:
    """The command that writes this registration again."""
    if handler.scope == PLUGIN_SCOPE:
        return "codex plugin add truecall" if handler.harness == "codex" else "claude plugin install truecall"
    return f"{entering(handler)}truecall install {handler.harness}{' --project' if handler.scope == PROJECT else ''}"


def entering(handler: Handler) -> str:
    """How to get to the folder whose file this is, where that is another than the current one."""
    folder = handler.path.removesuffix(f"/{handler.about.project}")
    away = handler.scope == PROJECT and folder not in (handler.path, os.getcwd())
    return f"cd {quoted(folder)} && " if away else ""


def removing(handler: Handler) -> str:
    """The command that takes this registration out."""
    if handler.scope == PLUGIN_SCOPE:
        return "codex plugin remove truecall" if handler.harness == "codex" else "claude plugin uninstall truecall"
    if handler.path != plan.place(handler.about, handler.scope, os.getcwd()) or not handler.python:
        return f"take the entry out of {handler.path} by hand"
    return f"truecall uninstall {handler.harness}{' --project' if handler.scope == PROJECT else ''}"


def of_harness(name: str, found: Inventory, project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """Everything that the files say of one harness. `given` is the environment of its hooks."""
    mine = [handler for handler in found.handlers if handler.harness == name]
    if not mine:
        return
    about = mine[0].about
    for path in dict.fromkeys(handler.path for handler in mine):
        here = [handler for handler in mine if handler.path == path]
        events = list(dict.fromkeys(handler.event for handler in here))
        yield Finding(OK, name, f"registered for {', '.join(events)}", path)
        missing = [event for event in about.events if event not in events and event.lower() not in
                   [each.lower() for each in events]]  # fmt: skip
        if missing:
            yield Finding(WARNING, name, f"not registered for {', '.join(missing)}: such calls are not judged",
                          path, mending(here[0]))  # fmt: skip
    yield from unread(mine, found)
    for handler in mine:
        yield from of_handler(handler, given)
    yield from disabled_hooks.off(name, mine, project, os.environ)
    yield from from_above(name, mine, project)
    yield from twice(name, mine)
    if name == "codex":
        yield from codex(mine, found, project)
    elif about.remark and any(handler.scope == PROJECT for handler in mine):
        yield folder_trust(name, about.remark, project)
    if name in UNTOLD:
        yield Finding(NOTE, name, UNTOLD[name])


def unread(mine: list[Handler], found: Inventory) -> Iterator[Finding]:
    """What a file of ours says besides with which the client does not read it, or the hooks in it."""
    for handler in {handler.path: handler for handler in mine}.values():
        if not registrations.settled(handler.about) or handler.path.endswith(".toml"):
            continue
        doc = Document(found.read[handler.path])
        for fault in settings_rules.faults(doc, handler.about):
            do = mending(handler) if fault.ours else "mend it there, and run truecall doctor again"
            where = f"{handler.path}:{place(doc.text, fault.offset)}"
            yield Finding(WARNING if fault.only else ERROR, handler.harness, fault.what, where, do)


def of_handler(handler: Handler, given: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the programs are there, the words fit, and the client waits long enough."""
    name, do = handler.harness, mending(handler)
    words = handler.words
    launcher = words[0].replace("${CLAUDE_PLUGIN_ROOT}", handler.root) if words else ""
    for what, path in (("launcher", launcher), ("interpreter", interpreter(handler, given))):
        if not path:
            yield Finding(ERROR, name, f"the command names no {what} that is there", handler.where, do)
        elif not os.path.isfile(path):
            yield Finding(ERROR, name, f"the {what} is not there: {path}", handler.where, do)
        elif not os.access(path, os.X_OK):
            yield Finding(ERROR, name, f"the {what} cannot be executed: {path}", handler.where, f"chmod +x '{path}'")
    if handler.about.form == SCRIPT and not os.stat(handler.path).st_mode & RUN:
        yield Finding(ERROR, name, "the script cannot be executed, so the client does not run it", handler.path,
                      f"chmod +x '{handler.path}'")  # fmt: skip
    if handler.more:
        what = f"our entry for {handler.event} also says {', '.join(handler.more)}: "
        what += "with it the client may not run the hook, or not hear it"
        yield Finding(ERROR, name, what, handler.where, do)
    if words and (words[1:2] != [name] or words[2:3] != [handler.event]):
        what = f"the command says {' '.join(words[1:3])!r}, and this is {name} {handler.event}"
        yield Finding(ERROR, name, what, handler.where, do)
    if handler.matcher not in EVERY or (handler.matcher == "" and name == "copilot-cli"):
        yield Finding(WARNING, name, f"the matcher {handler.matcher!r} of {handler.event} lets calls pass unjudged",
                      handler.where, f"take it out, or: {do}")  # fmt: skip
    yield from waiting(handler)


def interpreter(handler: Handler, given: Mapping[str, str]) -> str:
    """The interpreter that the launcher starts."""
    named = handler.python or given.get(PYTHON, "") or "python3"
    return named if "/" in named else shutil.which(named, path=given.get("PATH")) or ""


def waiting(handler: Handler) -> Iterator[Finding]:
    """Whether the client waits longer than the hook works; without a time-out each waits long enough."""
    about = handler.about
    if about.form in (SCRIPT, PLUGIN) or handler.timeout is None:
        return
    unit = about.timeout[1] / 30
    given = handler.timeout if isinstance(handler.timeout, (int, float)) else 0
    usual = AT_STOP if handler.event in STOPS else DEADLINE
    try:
        deadline = float(handler.option("--deadline") or usual)
    except ValueError:
        deadline = usual
    who, longest = LONGEST.get(handler.harness, ("", given))
    if given > longest:
        what = f"{who} cannot count to {about.timeout[0]}: {handler.timeout!r}, and ends the hook at once"
        yield Finding(ERROR, handler.harness, what, handler.where, mending(handler))
    if given / unit < deadline + MARGIN:
        what = f"the client waits {given / unit:g} s ({about.timeout[0]}: {handler.timeout!r}), the hook works up to"
        yield Finding(ERROR, handler.harness, f"{what} {deadline:g} s: a slow check would be lost in silence",
                      handler.where, mending(handler))  # fmt: skip


def from_above(name: str, mine: list[Handler], project: str) -> Iterator[Finding]:
    """Claude Code 2.1.332 runs the hooks of the repository's root in a subfolder, too, and 2.1.197 does not."""
    if name != "claude-code":
        return
    upper = [plan.place(mine[0].about, PROJECT, folder) for folder in registrations.above(name, project)]
    here = {handler.event for handler in mine if handler.path not in upper}
    lone = [handler for handler in mine if handler.path in upper and handler.event not in here]
    if lone:
        root = lone[0].path.removesuffix(f"/{lone[0].about.project}")
        what = "it is registered for the repository's root alone: in this folder "
        what += f"{disabled_hooks.NEW} runs the hook, and "
        yield Finding(WARNING, name, f"{what}{disabled_hooks.OLD} does not", lone[0].path,
                      f"start claude in {root}, or: truecall install claude-code")  # fmt: skip


def drafts(names: list[str], project: str) -> Iterator[Finding]:
    """What an install that was killed left beside a client's file."""
    for name in names:
        about = plan.registered()[name].REGISTRATION
        for scope in (USER, PROJECT):
            for draft in atomic_write.stale(os.path.realpath(plan.place(about, scope, project))):
                what = "an install that was killed left this draft; the next install or uninstall takes it away"
                yield Finding(NOTE, name, what, draft)


def twice(name: str, mine: list[Handler]) -> Iterator[Finding]:
    """The same call judged more than once."""
    for event in dict.fromkeys(handler.event for handler in mine):
        here = [handler for handler in mine if handler.event == event]
        if not here[0].about.twice:  # one command in two files is run once
            here = list({handler.run: handler for handler in here}.values())
        if len(here) > 1:
            places = " and ".join(dict.fromkeys(handler.where for handler in here))
            what = f"{event} is registered {len(here)} times, so each call is judged {len(here)} times"
            yield Finding(WARNING, name, what, places, removing(here[-1]))


def across(found: Inventory, project: str) -> Iterator[Finding]:
    """Copilot CLI runs the hooks of a project's .claude/settings.json and .claude/settings.local.json, too."""
    beside = os.path.join(project, ".claude")
    shared = [handler for handler in found.handlers if handler.harness == "claude-code"
              and handler.scope == PROJECT and os.path.dirname(handler.path) == beside]  # fmt: skip
    other = [handler for handler in found.handlers if handler.harness == "copilot-cli"]
    if shared and other:
        file = os.path.basename(shared[0].path)
        what = f"Copilot CLI also runs the hooks of .claude/{file}, so each call is judged twice"
        yield Finding(WARNING, "copilot-cli", what, shared[0].where, removing(shared[0]))


def codex(mine: list[Handler], found: Inventory, project: str) -> Iterator[Finding]:
    """Whether Codex trusts each hook as it is now, and runs hooks at all."""
    folder = os.path.dirname(plan.place(mine[0].about, USER, project))
    config = os.path.join(folder, "config.toml")
    try:
        plain = codex_trust.parsed(found.read.get(config, ""))
        state = codex_trust.states(plain)
    except SettingsError as error:
        yield Finding(ERROR, "codex", error.what, config, error.do or "mend it")
        return
    for handler in mine:
        key, digest = handler.trust
        stored = state.get(key, {}).get("trusted_hash")
        if stored != digest:
            why = "it was changed after it was trusted" if stored else "nobody trusted it yet"
            do = "start codex, and trust the hook there" if handler.scope == PLUGIN_SCOPE else mending(handler)
            yield Finding(ERROR, "codex", f"Codex does not trust this hook ({why}) and skips it in silence",
                          handler.where, do)  # fmt: skip
        else:
            yield Finding(OK, "codex", f"Codex trusts the hook of {handler.event}", handler.where)
    for path in dict.fromkeys(handler.path for handler in mine):
        here = next(handler for handler in mine if handler.path == path)
        for said in codex_trust.remarks(plain, here.trust[0].rsplit(":", 3)[0], here.scope == PROJECT, project):
            if not said.startswith("features."):  # switches knows which file of several counts
                yield Finding(ERROR, "codex", said, config, f"change it in {config}, or start codex here and confirm")
        beside = os.path.join(os.path.dirname(path), "config.toml")
        second = [] if path == beside else codex_trust.second(read_toml(found.read.get(beside, "")))
        if second:
            yield Finding(ERROR, "codex", f"{beside} registers hooks, too ({', '.join(second)})", path,
                          "move them into hooks.json")  # fmt: skip


def read_toml(text: str) -> dict[str, Any]:
    try:
        return codex_trust.parsed(text)
    except TruecallError:
        return {}


def folder_trust(name: str, remark: str, project: str) -> Finding:
    """Whether the client runs a project's hooks here, as far as its files tell."""
    if name != "gemini-cli":
        return Finding(NOTE, name, remark)
    home = os.path.dirname(plan.place(plan.registered()[name].REGISTRATION, USER, project))
    path = os.path.join(home, "trustedFolders.json")
    if disabled_hooks.gemini_trusts(project):
        return Finding(OK, name, "Gemini CLI trusts this folder", path)
    return Finding(WARNING, name, remark, path, "start gemini in this folder, and choose to trust it")


def absent(names: list[str], found: Inventory, every: bool, project: str) -> Iterator[Finding]:
    """What to say of harnesses in which truecall is not registered."""
    there = {handler.harness for handler in found.handlers}
    yield from (said for name in names if name not in there for said in out_of_reach(name, project))
    if every and not there:
        yield Finding(ERROR, "truecall", "it is registered with no client, so nothing is judged", "",
                      f"truecall install HARNESS (one of {', '.join(names)}), or truecall init")  # fmt: skip
    for name in names if not every else ():
        if name not in there:
            yield Finding(ERROR, name, "truecall is not registered here", "", f"truecall install {name}")


def out_of_reach(name: str, project: str) -> Iterator[Finding]:
    """A registration in the repository's root that a client does not see from this subfolder."""
    about, root = plan.registered()[name].REGISTRATION, plan.repository(project)
    if root in ("", project) or not registrations.settled(about) or registrations.above(name, project):
        return
    path = plan.place(about, PROJECT, root)
    if plan.registers(plan.Job(name, about, PROJECT, project, ""), path):
        what = f"it is registered for sessions in {root}, and {about.client} does not look there from this folder"
        yield Finding(WARNING, name, what, path, f"start it in {root}, or: truecall install {name}")


def as_json(findings: list[Finding]) -> str:
    rows = [{"level": each.level, "group": each.group, "what": each.what, "where": each.where, "do": each.do}
            for each in findings]  # fmt: skip
    return json.dumps(rows, indent=2, ensure_ascii=False)
