"""What is wrong with a registration, as far as files tell it: what would keep a client from running our command,
or run it twice. Never starts anything and never changes anything."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping

from truecall_py import clients
from truecall_py.clients import settings_rules, switches
from truecall_py.clients.handlers import ERROR, NOTE, OK, WARNING, Finding, Handler, Inventory
from truecall_py.clients.jsonc import Document, place
from truecall_py.clients.registration import PLUGIN, SCRIPT, Registration
from truecall_py.clients.settings_files import PROJECT, USER, find_repository
from truecall_py.clients.settings_files import place as place_of
from truecall_py.core import atomic_write
from truecall_py.core.types import DEADLINE, STOP_DEADLINE, STOP_EVENTS
from truecall_py.doctor import registrations
from truecall_py.doctor.registrations import ask_client, find_function
from truecall_py.setup import plan

MARGIN = 2.0  # seconds that a client must wait longer than the hook works
PYTHON, RUN = "TRUECALL_PYTHON", 0o111


def find_client_faults(name: str, found: Inventory, project: str, given: Mapping[str, str]) -> Iterator[Finding]:
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
                          path, here[0].render_install())  # fmt: skip
    yield from find_unread(mine, found)
    for handler in mine:
        yield from find_handler_faults(handler, given)
    yield from find_switches(about, mine, project)
    yield from find_duplicates(name, mine)
    yield from ask_client(name, "find_faults", mine, found, project)
    if about.remark and any(handler.scope == PROJECT for handler in mine):
        yield check_folder_trust(about, project)
    if about.untold:
        yield Finding(NOTE, name, about.untold)


def find_switches(about: Registration, mine: list[Handler], project: str) -> Iterator[Finding]:
    """Everything with which a client runs no hook of ours in a session in `project`."""
    if find_switches_of_client := find_function(about.name, "find_switches"):
        yield from find_switches_of_client(mine, project, os.environ)
    else:
        files = [place_of(about, USER, project), place_of(about, PROJECT, project)]
        yield from switches.find_switched_off(about, [(about.client, files)])


def find_unread(mine: list[Handler], found: Inventory) -> Iterator[Finding]:
    """What a file of ours says besides with which the client does not read it, or the hooks in it."""
    for handler in {handler.path: handler for handler in mine}.values():
        if not registrations.is_settings_file(handler.about) or handler.path.endswith(".toml"):
            continue
        doc = Document(found.read[handler.path])
        for fault in settings_rules.find_faults(doc, handler.about):
            do = handler.render_install() if fault.ours else "fix it there, and run truecall doctor again"
            where = f"{handler.path}:{place(doc.text, fault.offset)}"
            yield Finding(WARNING if fault.only else ERROR, handler.harness, fault.what, where, do)


def find_handler_faults(handler: Handler, given: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the programs are there, the words fit, and the client waits long enough."""
    name, do = handler.harness, handler.render_install()
    words = handler.words
    launcher = words[0] if words else ""
    if handler.about.plugin is not None:
        launcher = launcher.replace(f"${{{handler.about.plugin.root}}}", handler.root)
    for what, path in (("launcher", launcher), ("interpreter", find_interpreter(handler, given))):
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
    if handler.matcher not in handler.about.every:
        yield Finding(WARNING, name, f"the matcher {handler.matcher!r} of {handler.event} lets calls pass unjudged",
                      handler.where, f"take it out, or: {do}")  # fmt: skip
    yield from compare_timeouts(handler)


def find_interpreter(handler: Handler, given: Mapping[str, str]) -> str:
    """The interpreter that the launcher starts."""
    named = handler.python or given.get(PYTHON, "") or "python3"
    return named if "/" in named else shutil.which(named, path=given.get("PATH")) or ""


def compare_timeouts(handler: Handler) -> Iterator[Finding]:
    """Whether the client waits longer than the hook works; without a time-out each waits long enough."""
    about = handler.about
    if about.form in (SCRIPT, PLUGIN) or handler.timeout is None:
        return
    unit = about.timeout[1] / 30
    given = handler.timeout if isinstance(handler.timeout, (int, float)) else 0
    usual = STOP_DEADLINE if handler.event in STOP_EVENTS else DEADLINE
    try:
        deadline = float(handler.option("--deadline") or usual)
    except ValueError:
        deadline = usual
    who, longest = about.longest
    if given > longest > 0:
        what = f"{who} cannot count to {about.timeout[0]}: {handler.timeout!r}, and ends the hook at once"
        yield Finding(ERROR, handler.harness, what, handler.where, handler.render_install())
    if given / unit < deadline + MARGIN:
        what = f"the client waits {given / unit:g} s ({about.timeout[0]}: {handler.timeout!r}), the hook works up to"
        yield Finding(ERROR, handler.harness, f"{what} {deadline:g} s: a slow check would be lost in silence",
                      handler.where, handler.render_install())  # fmt: skip


def find_drafts(names: list[str], project: str) -> Iterator[Finding]:
    """What an install that was killed left beside a client's file."""
    for name in names:
        about = clients.load_registration(name)
        for scope in (USER, PROJECT):
            for draft in atomic_write.hold_stale_drafts(os.path.realpath(place_of(about, scope, project))):
                what = "an install that was killed left this draft; the next install or uninstall takes it away"
                yield Finding(NOTE, name, what, draft)


def find_duplicates(name: str, mine: list[Handler]) -> Iterator[Finding]:
    """The same call judged more than once."""
    for event in dict.fromkeys(handler.event for handler in mine):
        here = [handler for handler in mine if handler.event == event]
        if not here[0].about.twice:  # one command in two files is run once
            here = list({handler.run: handler for handler in here}.values())
        if len(here) > 1:
            places = " and ".join(dict.fromkeys(handler.where for handler in here))
            what = f"{event} is registered {len(here)} times, so each call is judged {len(here)} times"
            yield Finding(WARNING, name, what, places, here[-1].render_uninstall())


def check_folder_trust(about: Registration, project: str) -> Finding:
    """Whether the client runs a project's hooks here, as far as its files tell."""
    said = ask_client(about.name, "trusts_folder", project)
    if not said:
        return Finding(NOTE, about.name, about.remark)
    trusted, path = said
    if trusted:
        return Finding(OK, about.name, f"{about.client} trusts this folder", path)
    do = f"start {about.executable} in this folder, and choose to trust it"
    return Finding(WARNING, about.name, about.remark, path, do)


def describe_absent(names: list[str], found: Inventory, every: bool, project: str) -> Iterator[Finding]:
    """What to say of harnesses in which truecall is not registered."""
    there = {handler.harness for handler in found.handlers}
    yield from (said for name in names if name not in there for said in find_out_of_reach(name, project))
    if every and not there:
        yield Finding(ERROR, "truecall", "it is registered with no client, so nothing is judged", "",
                      f"truecall install HARNESS (one of {', '.join(names)}), or truecall init")  # fmt: skip
    for name in names if not every else ():
        if name not in there:
            yield Finding(ERROR, name, "truecall is not registered here", "", f"truecall install {name}")


def find_out_of_reach(name: str, project: str) -> Iterator[Finding]:
    """A registration in the repository's root that a client does not see from this subfolder."""
    about, root = clients.load_registration(name), find_repository(project)
    if (
        root in ("", project)
        or not registrations.is_settings_file(about)
        or ask_client(name, "list_folders_above", project)
    ):
        return
    path = place_of(about, PROJECT, root)
    if plan.registers_truecall(plan.Job(about, PROJECT, project, ""), path):
        what = f"it is registered for sessions in {root}, and {about.client} does not look there from this folder"
        yield Finding(WARNING, name, what, path, f"start it in {root}, or: truecall install {name}")


def render_json(findings: list[Finding]) -> str:
    fields = ("level", "group", "what", "where", "do")
    rows = [{name: getattr(finding, name) for name in fields} for finding in findings]
    return json.dumps(rows, indent=2, ensure_ascii=False)
