"""What `install` and `uninstall` would change, worked out before anything is written. Never writes itself."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from truecall_py import clients
from truecall_py.clients import jsonc, registration
from truecall_py.clients.jsonc import Document, SettingsError
from truecall_py.clients.registration import FLAT, GROUPS, MARK, PLUGIN, SCRIPT, Registration
from truecall_py.clients.settings_files import PROJECT, USER, ChangeError, Seen, find_repository, look, place
from truecall_py.core import paths
from truecall_py.core.errors import UsageError
from truecall_py.core.hashing import sha256
from truecall_py.core.record import record
from truecall_py.setup import backups, hook_entries
from truecall_py.setup.backups import Record
from truecall_py.setup.file_changes import Change

PROGRAM = 0o777  # the mode of a new file that is run


@record(frozen=True)
class Job:
    """One client in one scope. `path` is the file as it is named, `project` the folder the command runs in."""

    about: Registration
    scope: str
    project: str
    state: str

    @property
    def harness(self) -> str:
        return self.about.name

    @property
    def path(self) -> str:
        return place(self.about, self.scope, self.project)

    @property
    def commands(self) -> dict[str, str]:
        return {event: self.command(event) for event in self.about.events}

    def command(self, event: str) -> str:
        return registration.build_line(self.harness, event, sys.executable, paths.find_launcher(), self.state)

    @property
    def other(self) -> str:
        """The file of the other scope."""
        return place(self.about, PROJECT if self.scope == USER else USER, self.project)

    def fragment(self) -> str:
        return registration.render_registration(self.about, self.command)


@record(frozen=True)
class Plan:
    """The changes, in the order in which they are made, and what the person should know."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()  # names of records that are of no more use


def require_runnable(job: Job) -> None:
    """Raises UsageError where the command line could never run."""
    programs = ("interpreter", sys.executable), ("launcher", paths.find_launcher()), ("state folder", job.state)
    for what, path in programs:
        if not path.startswith("/") or any(ord(letter) < 32 or "\ud7ff" < letter < "\ue000" for letter in path):
            raise UsageError(f"the path of the {what} cannot be registered: {path!r}", do="move it to a plain path")
        if job.about.expands and "$" in path:
            raise UsageError(f"{job.about.client} takes the $ in the {what}'s path for a variable", path, "move it")
    if not os.access(paths.find_launcher(), os.X_OK):
        what = "the launcher cannot be run, and a client would take that for an empty answer"
        raise UsageError(what, paths.find_launcher(), f"chmod +x {paths.find_launcher()}, or install truecall again")


def make_refusal(error: SettingsError, seen: Seen, fragment: str) -> ChangeError:
    """The error of a file that is left as it is, with what to paste."""
    text = (seen.data or b"").decode("utf-8", "replace")
    where = f"{seen.path}:{jsonc.place(text, error.offset)}" if error.offset >= 0 else seen.path
    paste = "The file is as it was. What belongs into it:\n\n" + fragment.rstrip("\n") if fragment else ""
    return ChangeError(error.what, where, f"{error.do}. {paste}".strip(". ") if error.do else paste)


def is_idle(change: Change) -> bool:
    """Whether a change changes nothing."""
    seen = change.seen
    return change.data == seen.data and (change.data is None or change.mode != PROGRAM or bool(seen.mode & 0o111))


# -- install ---------------------------------------------------------------------------------------------


def install(job: Job) -> Plan:
    """What registers truecall. Raises TruecallError."""
    require_runnable(job)
    seen = look(job.path)
    try:
        change = build_program(job, seen) if job.about.form in (SCRIPT, PLUGIN) else merge_settings(job, seen)
    except SettingsError as error:
        raise make_refusal(error, seen, job.fragment()) from None
    notes = list_notes(job, change)
    both = registers_truecall(job, job.other)
    back = f"take it back there with `truecall uninstall {job.harness} --{PROJECT if job.scope == USER else USER}`"
    if both and job.about.one_scope:
        what = f"truecall is registered in {job.other} already, and {job.about.client} would run both"
        raise ChangeError(what, seen.path, f"{back}, or leave it at that")
    if both and job.about.twice:
        notes.append(f"it is registered in {job.other}, too, so each call is judged twice: {back}")
    changes = [change]
    if (trust := clients.find_part(job.harness, "trust")) is not None:
        granted, remarks = add_client_trust(job, change, trust)
        notes += remarks
        changes.insert(0, granted)  # trust first: without it the client skips the hook in silence
    return Plan(tuple(change for change in changes if not is_idle(change)), tuple(notes))


def list_notes(job: Job, change: Change) -> list[str]:
    notes = []
    if job.about.form in (GROUPS, FLAT):
        notes = hook_entries.list_cautions(Document((change.data or b"").decode()), job.about, job.harness)
    if any("/.cache/" in path for path in (sys.executable, paths.find_launcher())):
        notes.append("this truecall runs from a cache folder; once that is cleaned, the client finds no hook, and "
                     "says nothing: install truecall for good, and run this again from there")  # fmt: skip
    if job.scope == PROJECT:
        notes.append(f"it counts for sessions that are started in {job.project}")
        if job.about.remark:
            notes.append(job.about.remark)
        if find_repository(job.project):
            notes.append(f"{job.about.project} holds absolute paths of this machine: keep it out of the repository "
                         "(a line in .git/info/exclude does)")  # fmt: skip
    return notes


def registers_truecall(job: Job, path: str) -> bool:
    """Whether a file registers truecall, as far as it can be read."""
    try:
        seen = look(path)
        if seen.target == look(job.path).target or seen.data is None:
            return False
        text = seen.decode()
        if job.about.form in (SCRIPT, PLUGIN):
            return bool(own_lines(text)) or MARK in text
        return bool(hook_entries.list_own_handlers(Document(text), job.about))
    except (ChangeError, SettingsError):
        return False


def merge_settings(job: Job, seen: Seen) -> Change:
    """The settings with our entries. Raises SettingsError."""
    old = backups.load(job.state, seen.target)
    if seen.data is None:
        text = job.fragment()
        created = ("hooks", *(f"hooks/{event}" for event in job.about.events))
        new = Record(seen.target, None, (sha256(text.encode()),), (), created)
        return Change(seen, text.encode(), new, seen.target)
    text = seen.decode()
    had = old if old is not None and hook_entries.list_own_handlers(Document(text), job.about) else None
    result = hook_entries.merge_entries(text, job.about, job.commands, had.pieces if had else ())
    data = result.text.encode()
    created = tuple(dict.fromkeys((*(had.created if had else ()), *result.created)))
    base, after = remove_registration(job, seen, had), list_digests(had, seen, data)
    folders = old.folders if old is not None else ()
    return Change(seen, data, Record(seen.target, base, after, result.pieces, created, folders), seen.target)


def list_digests(old: Record | None, seen: Seen, data: bytes) -> tuple[str, ...]:
    """The digests of what we made of a file, the new one last."""
    return (*(old.after if old is not None and old.wrote(seen.data) else ()), sha256(data))


def remove_registration(job: Job, seen: Seen, old: Record | None) -> bytes | None:
    """What a settings file holds without us: to the byte what it held where nobody changed it since; None
    where it is there only because of us. Raises SettingsError."""
    if old is not None and old.wrote(seen.data):
        return old.before
    if seen.data is None:
        return None
    text = seen.decode()
    if not hook_entries.list_own_handlers(Document(text), job.about):
        return seen.data
    left = hook_entries.remove_entries(text, job.about, old.created if old else None, old.pieces if old else ())
    doc = Document(left)
    created = old.before is None if old is not None else job.about.form == FLAT
    kept = {key: value for key, value in doc.root.plain().items() if key not in job.about.adds}
    if created and not doc.comments and kept == dict(job.about.frame):
        return None
    return left.encode()


def own_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if registration.split_words(line)]


def build_program(job: Job, seen: Seen) -> Change:
    """The program that a client runs or loads, all of it ours. Raises SettingsError for somebody else's."""
    wanted = job.fragment().encode()
    mode = PROGRAM if job.about.form == SCRIPT else 0o666
    old = backups.load(job.state, seen.target)
    wrote = old is not None and old.wrote(seen.data)
    base, data = old.before if wrote and old is not None else None, wanted
    if seen.data is not None:
        text = seen.decode()
        mine = own_lines(text) if job.about.form == SCRIPT else []
        for line in mine:
            text = text.replace(line, job.command(job.about.events[0]))
        if mine:
            data, base = text.encode(), base if wrote else remove_own_lines(text)
        elif MARK not in text:
            what = f"there is a file of somebody else's, and {job.about.client} reads one under this name alone"
            do = "add the last line below to it by hand: it must be the one to read the standard input and to answer"
            raise SettingsError(what, -1, do if mode == PROGRAM else "move it away, and run this again")
    folders = old.folders if old is not None else ()
    new = Record(seen.target, base, list_digests(old, seen, data), (), (), folders)
    return Change(seen, data, new, seen.target, mode)


def remove_own_lines(text: str) -> bytes | None:
    """What is left of a script without our lines; None where that is nothing but its first line."""
    kept = [
        line for line in text.splitlines(keepends=True) if not registration.split_words(line) and MARK not in line
    ]
    return "".join(kept).encode() if any(line.strip() and not line.startswith("#!") for line in kept) else None


# -- a client that must trust the hook -------------------------------------------------------------------


def trust_file(job: Job, trust: ModuleType) -> tuple[Seen, str, str]:
    """(the person's file with the client's trust, the name of our record of it, the hooks file as it is named in
    there)."""
    seen = look(os.path.join(os.path.dirname(place(job.about, USER, job.project)), trust.FILE))
    return seen, f"{seen.target}\n{job.path}", trust.name_hooks_file(job.path)


def parse_document(data: bytes | None) -> Document | None:
    return None if data is None else Document(data.decode())


def add_client_trust(job: Job, change: Change, trust: ModuleType) -> tuple[Change, list[str]]:
    """The file with the trust that our hook needs, and what the person must do besides. Raises ChangeError."""
    seen, name, path = trust_file(job, trust)
    beside = look(os.path.join(os.path.dirname(job.path), trust.FILE))
    try:
        trust.refuse_second(beside.decode())
    except SettingsError as error:
        raise make_refusal(error, beside, trust.paste(job.about, job.command)) from None
    try:
        before, after = parse_document(change.seen.data), parse_document(change.data)
        text, piece = trust.grant(seen.decode(), path, before, after)
        remarks = trust.remarks(seen.decode(), path, job.scope == PROJECT, job.project)
    except SettingsError as error:
        raise make_refusal(error, seen, "") from None
    old = backups.load(job.state, name)
    base = old.before if old is not None else seen.data
    pieces = trust.refresh(old.pieces, text) if old is not None and not piece else (piece,)
    new = Record(name, base, (sha256(text.encode()),), pieces, (), old.folders if old is not None else ())
    return Change(seen, text.encode(), new, name), remarks


def remove_client_trust(job: Job, change: Change, trust: ModuleType) -> Change:
    """The file without the client's trust in our hook. Raises ChangeError."""
    seen, name, path = trust_file(job, trust)
    if seen.data is None:
        return Change(seen, None, None, name)
    old = backups.load(job.state, name)
    pieces = old.pieces if old is not None else ()
    try:
        before, after = parse_document(change.seen.data), parse_document(change.data)
        left = trust.revoke(seen.decode(), path, before, after, pieces)
    except SettingsError as error:
        raise make_refusal(error, seen, "") from None
    ours = old is not None and not left.strip() and (old.before is None or bool(old.before.strip()))
    return Change(seen, None if ours else left.encode(), None, name)


# -- uninstall -------------------------------------------------------------------------------------------


def uninstall(job: Job) -> Plan:
    """What takes truecall out again. Raises TruecallError."""
    seen = look(job.path)
    old = backups.load(job.state, seen.target)
    notes = []
    try:
        if job.about.form in (GROUPS, FLAT):
            left = remove_registration(job, seen, old)
        elif seen.data is None or (old is not None and old.wrote(seen.data)):
            left = old.before if old is not None else None
        else:
            text = seen.decode()
            left = seen.data
            if job.about.form == SCRIPT and own_lines(text):
                left = remove_own_lines(text)
            elif job.about.form == PLUGIN and MARK in text:
                left = None
                notes.append("it was edited after it was installed; being truecall's own, it went as a whole")
    except SettingsError as error:
        raise make_refusal(error, seen, "") from None
    change = Change(seen, left, None, seen.target)
    trust = clients.find_part(job.harness, "trust")
    changes = [change] if trust is None else [change, remove_client_trust(job, change, trust)]
    done = tuple(change.name for change in changes if is_idle(change))
    return Plan(tuple(change for change in changes if not is_idle(change)), tuple(notes), done)
