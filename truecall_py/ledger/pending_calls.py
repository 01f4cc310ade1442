"""Keeps unresolved calls so that they can be judged again: refuted, unverified or unfinished ones. Never keeps a
known secret or a call whose contract says `store: none`, and none longer than it is unresolved and KEPT.

An argument with a secret is kept masked, and reading it raises Unverified; an answer with a secret is not kept. One
file per call, `open/SESSION/CALL.json` in the state folder, private to its owner and written atomically.
"""

from __future__ import annotations

import os

from truecall_py.core.fast_json import JsonError, dumps, loads
from truecall_py.core.paths import locate_runs_mark
from truecall_py.core.record import record
from truecall_py.core.secret_patterns import MASK, WORD
from truecall_py.core.types import ABSENT, File, ToolCall, Withheld
from truecall_py.world.snapshots import clear_sessions, list_entries, make_name, open_draft
from truecall_py.world.snapshots import remove_file as forget_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    from truecall_py.ledger.store import Event

FOLDER = "open"
MAX_CHARACTERS = 1 << 20  # characters of one call; a larger one is not kept
OPEN_AGE = 24 * 3600.0  # seconds after which an old session's calls are forgotten
OPERATIONS = "operations"  # of calls whose operation its source has not settled; they outlive turn and session
OPERATION_AGE = 30 * 24 * 3600.0  # seconds after which those are forgotten
SUFFIX = ".json"
NO_ANSWER = {"result": ABSENT, "text": None, "response": ABSENT}  # of a call whose answer is not kept


@record(frozen=True)
class KeptCall:
    """A call as the hook got it, without its secrets; when that was, in seconds since the epoch; its keyed digest,
    made with them; and the folder whose contracts applied ("": not known)."""

    call: ToolCall
    at: float
    identity: str = ""
    folder: str = ""

    @property
    def masked(self) -> bool:
        return Withheld.holds_mask(self.call.args)

    def guarded(self) -> ToolCall:
        """The call for judging: reading a masked argument raises Unverified. For a command the words count, and what
        a contract captures from it is checked there."""
        if not self.masked:
            return self.call
        args, command = self.call.args, self.call.args.get("command")
        if not isinstance(command, str) or "shell" not in self.call.kinds:
            return ToolCall(**{**self.call.__dict__, "args": Withheld(args)})
        args = Withheld({**args, "command": command.replace(MASK, WORD)}, ("command",))
        return ToolCall(**{**self.call.__dict__, "args": args})


def locate_call(state: str, session: str, call: str, root: str = FOLDER) -> str:
    return os.path.join(state, root, make_name(session), f"{make_name(call)}{SUFFIX}")


def without_secrets(call: ToolCall) -> dict[str, Any] | None:
    """Returns the fields of a call for storage: masked arguments, and no answer or file content with a secret. None
    if a path or a name would have to be masked, since that would be another call."""
    from truecall_py.core.redaction import mask_value

    words = [value for name, value in call.__dict__.items() if isinstance(value, str) and name != "text"]
    if any(mask_value(word) != word for word in [*words, *(file.path for file in call.files)]):
        return None
    answer = {name: getattr(call, name) for name in NO_ANSWER if getattr(call, name) is not ABSENT}
    fields = {**call.__dict__, "args": mask_value(call.args), **({} if mask_value(answer) == answer else NO_ANSWER)}
    fields["kinds"] = sorted(call.kinds)
    fields["files"] = [
        {name: None if name in ("content", "before") and mask_value(value) != value else value
         for name, value in file.__dict__.items()} for file in call.files
    ]  # fmt: skip
    return {name: value for name, value in fields.items() if value is not ABSENT}


def is_large(call: ToolCall) -> bool:
    """Tells whether a call is certainly too large, before its content is searched."""
    whole = [call.args, call.text, call.response, [file.content for file in call.files]]
    return sum(len(dumps(value)) for value in whole if value is not ABSENT) > MAX_CHARACTERS


def keep_call(state: str, call: ToolCall, at: float, identity: str, root: str = FOLDER, cwd: str = "") -> bool:
    """Keeps a call with the folder (`cwd`) whose contracts apply. Returns False if it is too large or cannot be
    written."""
    if not call.session or not call.call_id or is_large(call):
        return False
    fields = without_secrets(call)
    text = "" if fields is None else dumps({"at": at, "identity": identity, "folder": cwd, "call": fields})
    if not text or len(text) > MAX_CHARACTERS:
        return False
    path = locate_call(state, call.session, call.call_id, root)
    folder, draft = os.path.dirname(path), f"{path}-{os.getpid()}.draft"

    def ready() -> None:
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700, exist_ok=True)
            clear_sessions(os.path.dirname(folder), at - (OPEN_AGE if root == FOLDER else OPERATION_AGE))

    try:
        descriptor = open_draft(draft, ready)
        try:
            data = text.encode()
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
        os.rename(draft, path)
    except OSError:
        return False
    return True


def find_call(state: str, session: str, call: str, root: str = FOLDER) -> KeptCall | None:
    """Returns a kept call; None if there is no complete one."""
    return read_file(locate_call(state, session, call, root))


def read_file(path: str) -> KeptCall | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        data = b""
        while len(data) <= MAX_CHARACTERS and (piece := os.read(descriptor, MAX_CHARACTERS)):
            data += piece
        return decode_call(loads(data.decode(), own=True))
    except (OSError, JsonError, ValueError, LookupError, TypeError, AttributeError):
        return None
    finally:
        os.close(descriptor)


def find_any(state: str, session: str, call: str) -> KeptCall | None:
    """Returns a kept call: unresolved, or with an unsettled operation."""
    return find_call(state, session, call) or find_call(state, session, call, OPERATIONS)


def decode_call(plain: dict[str, Any]) -> KeptCall:
    fields = dict(plain["call"])
    fields["kinds"] = frozenset(fields["kinds"])
    fields["files"] = tuple(File(**file) for file in fields["files"])
    fields["notes"] = tuple(fields.get("notes", ()))
    return KeptCall(ToolCall(**fields), float(plain["at"]), str(plain["identity"]), str(plain.get("folder", "")))


def list_ids(state: str, session: str, most: int = 200) -> list[str]:
    """Returns the ids of the kept calls of a session, up to a limit."""
    ids = []
    for name in sorted(list_names(state, session))[:most]:
        kept = read_file(os.path.join(state, FOLDER, make_name(session), name + SUFFIX))
        if kept is not None:
            ids.append(kept.call.call_id)
    return ids


def read_mark(state: str, session: str) -> int | None:
    """Returns how many bytes of the transcript were searched for the end of background work; None if the session has
    none."""
    try:
        descriptor = os.open(locate_runs_mark(state, make_name(session)), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 40)
        return int(text) if text.isdigit() else 0
    except OSError:
        return 0
    finally:
        os.close(descriptor)


def set_mark(state: str, session: str, upto: int | None) -> None:
    """Marks that background work goes on, and how far the transcript was searched; None: no work goes on. If that
    cannot be written, the transcript is searched only at the stop."""
    path = locate_runs_mark(state, make_name(session))
    try:
        if upto is None:
            os.unlink(path)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, str(upto).encode())
        finally:
            os.close(descriptor)
    except OSError:
        return


def forget_call(state: str, session: str, call: str, root: str = FOLDER) -> None:
    """Removes a resolved call."""
    forget_file(locate_call(state, session, call, root))


def list_names(state: str, session: str) -> set[str]:
    """Returns the names of the kept calls of a session."""
    folder = os.path.dirname(locate_call(state, session, ""))
    return {name.removesuffix(SUFFIX) for name in list_entries(folder) if name.endswith(SUFFIX)}


def forget_settled(state: str, session: str, events: Sequence[Event]) -> None:
    """Removes the kept calls of a session that were fixed since, according to its `events`."""
    from truecall_py.ledger.open_calls import list_open
    from truecall_py.ledger.store import ENDED

    kept = list_names(state, session)
    ended = [event for event in events if event.event == ENDED and make_name(event.call) in kept]
    still = {call.event.call for call in list_open(events, ended, {})}
    for event in ended:
        if event.call not in still:
            forget_call(state, session, event.call)


def end_turn(state: str, session: str, seen: Collection[str], staying: Collection[str], at: float) -> None:
    """Removes what no later stop needs: the session's calls that were `seen` before the gate ran, except those
    `staying`, and calls of other sessions without activity for KEPT seconds."""
    for name in set(seen) - {make_name(call) for call in staying}:
        forget_file(os.path.join(state, FOLDER, make_name(session), name + SUFFIX))
    clear_sessions(os.path.join(state, FOLDER), at - OPEN_AGE)
