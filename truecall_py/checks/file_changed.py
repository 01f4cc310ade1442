"""file_changed: a file changed, and only as it should. Without knowledge of the file before the call, there is no
verdict."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.checks import LOGIC
from truecall_py.checks.file_exists import build_mark, name_file_type
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import compare_effect, refuted, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, has_delta, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, OLD, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "file_changed"
SUMMARY = "A file changed as expected; its other lines, line endings, encoding and mode are the same."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 2.6
FIELDS = (
    field("path", "path", "The path, relative to the folder where the call started.", required=True, templated=True),
    field("content", "boolean", "true: the content differs from before; false: it is the same."),
    field("size", "operand", "The size in bytes: a number or a matcher (increased_by works).", templated=True),
    field("mode", "mode", "Its permission bits, e.g. \"0755\"; kept: the same as before."),
    field("since", "choice", "The state to compare with: before the call, or the last commit (HEAD).",
          default="call", choices=("call", "head")),
    field("line_endings", "choice", "kept: the same line endings as before.", choices=("kept",)),
    field("encoding", "choice", "kept: the same byte order mark and encoding as before.", choices=("kept",)),
    field("rest", "choice", "kept: everything outside the edits of the call is the same, byte for byte (except "
          "line endings).", choices=("kept",)),
    field("edits", "choice", "all: the file contains every edit that the call sent.", choices=("all",)),
)  # fmt: skip
ASSERTS = ("content", "size", "mode", "line_endings", "encoding", "rest", "edits")
MARKS_FILE = True
ONLY_AFTER = {"": "what the call changed"}
WORKER = "truecall_py.worker.git_show"
EXAMPLES = (
    {
        "title": "one line changed; the rest and the CRLF line endings are the same",
        "before": {"setup": "printf 'a=1\\r\\nb=2\\r\\n' > app.ini"},
        "setup": "printf 'a=1\\r\\nb=3\\r\\n' > app.ini",
        "args": {"old_string": "b=2", "new_string": "b=3"},
        "check": {"path": "app.ini", "rest": "kept", "line_endings": "kept", "edits": "all"},
        "verdict": "verified",
    },
    {
        "title": "reported as changed, but the content is the same",
        "before": {"files": {"app.ini": "a=1\n"}},
        "files": {"app.ini": "a=1\n"},
        "check": {"path": "app.ini", "content": True},
        "verdict": "refuted",
    },
    {
        "title": "the log grew by eight bytes",
        "before": {"files": {"run.log": "started\n"}},
        "files": {"run.log": "started\nstopped\n"},
        "check": {"path": "run.log", "size": {"increased_by": 8}},
        "verdict": "verified",
    },
    {
        "title": "there is no snapshot of the file",
        "files": {"app.ini": "a=1\n"},
        "check": {"path": "app.ini", "content": True},
        "verdict": "unverified",
    },
)

LARGEST = 16 << 20  # bytes of a file that is read before a call
# Fields that compare with the content before, and those that need the whole content.
CONTENT = ("content", "line_endings", "encoding", "rest", "edits")
WHOLE = ("encoding", "rest", "edits")
ORIGINALS = ("originalFile", "original_file", "originalFileContents")


def expect(params: dict[str, Any]) -> str:
    then = "in the last commit" if params.get("since") == "head" else "before the call"
    words = []
    if "content" in params:
        words.append(f"has {'another' if params['content'] else 'the same'} content than {then}".replace(
            "the same content than", "the same content as"))  # fmt: skip
    if params.get("size"):
        words.append(f"has a size that {describe(params['size'])}")
    if params.get("mode"):
        words.append("has the mode that it had" if params["mode"] == "kept" else f"has the mode {params['mode']}")
    words += [f"kept its {what}" for name, what in (("line_endings", "line ends"), ("encoding", "encoding"))
              if params.get(name)]  # fmt: skip
    if params.get("rest"):
        words.append(f"is as {then} outside of the edits that were sent")
    if params.get("edits"):
        words.append("holds every edit that was sent")
    return f"{params['path']} {', '.join(words)}"


def needs_snapshot(params: dict[str, Any]) -> bool:
    if params.get("since") == "head":
        return has_delta(params.get("size"))
    return params.get("mode") == "kept" or has_delta(params.get("size")) or any(name in params for name in CONTENT)


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any] | None:
    """Return the facts of the file before the call, None if there is none. The content is included only if the
    contract compares it."""
    path = world.resolve(params["path"])
    found = world.stat(path)
    if found is None:
        return None
    told: dict[str, Any] = {"mark": build_mark(found), "mode": modes.S_IMODE(found.st_mode), "size": found.st_size}
    if params.get("since") == "head" or not modes.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return told
    return {**told, **read_facts(params, world.read(path))} if any(name in params for name in CONTENT) else told


def read_facts(params: dict[str, Any], data: bytes, whole: bool = False) -> dict[str, Any]:
    from truecall_py.checks.support.line_endings import read_facts

    return read_facts(data, whole or any(name in params for name in WHOLE))


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    path = world.resolve(params["path"])
    found = world.stat(path)
    if found is None:
        return refuted(expected, f"nothing at {path}", find_nearest(path, world), True)
    if not modes.S_ISREG(found.st_mode):
        return refuted(expected, f"{name_file_type(found.st_mode)} at {path}", blank=True)
    earlier = world.earlier(NAME, params)
    was: Any = read_committed(params, path, world) if params.get("since") == "head" else earlier
    now: dict[str, Any] = {"mode": modes.S_IMODE(found.st_mode), "size": found.st_size}
    if any(name in params for name in CONTENT):
        now.update(read_facts(params, world.read(path), was is ABSENT))
    wrong, certain = judge_attributes(params, was, now, world)
    if not wrong and was is None:
        wrong, certain = judge_new_file(params), True
    elif not wrong and was is ABSENT:
        wrong, certain = judge_by_call(params, path, call, now)
    elif not wrong:
        wrong, certain = judge_content(params, call, was, now)
    if wrong and not certain and params.get("since") != "head" and not world.alone(NAME, params):
        raise Unverified(f"{path} {wrong}, but another call about it ran at the same time", "probe")
    if wrong:
        return refuted(expected, f"{path} {wrong}")
    effect = compare_effect(earlier["mark"] if earlier else earlier, build_mark(found))
    # The contract may require that nothing changed. Then that is no sign of an idle call.
    still = params.get("content") is False or (params.get("size") or {}).get("increased_by") == 0
    return verified(expected, f"{path}, {found.st_size} bytes", "" if still and effect == OLD else effect)


def judge_attributes(params: dict[str, Any], was: Any, now: dict[str, Any], world: World) -> tuple[str, bool]:
    """Return (what is wrong with size or mode, whether only this call can have done it)."""
    matcher = params.get("size")
    if matcher:
        sizes = None if was is ABSENT else (was["size"] if was else ABSENT,)
        if not matches(matcher, now["size"], world, before=sizes):
            then = f", and had {was['size']} before" if was else ""
            return f"has {now['size']} bytes{then}", not has_delta(matcher)
    mode = params.get("mode")
    if mode and mode != "kept" and int(mode, 8) != now["mode"]:
        return f"has mode {now['mode']:04o}", True
    if mode == "kept":
        if was is ABSENT:
            raise Unverified("no snapshot was taken before the call, so its mode then is not known", "harness")
        if was is None:
            raise Unverified("nothing was there before, so there was no mode to keep", "vacuous")
        same = was["mode"] == now["mode"]
        if was.get("executable") is not None:  # git keeps only this bit of a mode
            same = bool(now["mode"] & 0o100) is was["executable"]
        if not same:
            return f"has mode {now['mode']:04o}, and had {was['mode']:04o}", False
    return "", False


def judge_new_file(params: dict[str, Any]) -> str:
    """Return what is wrong with a file that did not exist before. Raises Unverified if there was nothing to keep."""
    if params.get("content") is False:
        return "is new: nothing was there before"
    if any(name in params for name in ("line_endings", "encoding", "rest", "edits")):
        raise Unverified("nothing was there before, so there is nothing to compare with", "vacuous")
    return ""


def judge_by_call(params: dict[str, Any], path: str, call: ToolCall, now: dict[str, Any]) -> tuple[str, bool]:
    """Judge the content as `judge_content` does, by the content before the call that the call itself reports: clients
    convert its line ends and drop its byte order mark. Raises Unverified."""
    if not any(name in params for name in CONTENT):
        return "", True
    original = find_original(path, call)
    if original is None:
        raise Unverified("no snapshot was taken before the call, and the call does not say what was there", "harness")
    if "\ufffd" in original:
        raise Unverified("the call shows the content before it with bytes that it could not decode", "harness")
    if "line_endings" in params or "encoding" in params:
        raise Unverified("no snapshot was taken before the call, and clients do not show line ends and encodings as "
                         "they are", "harness")  # fmt: skip
    from truecall_py.checks.support.line_endings import read_facts, read_view

    told = read_facts(original.encode("utf-8", "surrogatepass"), True)
    same = read_view(told) == read_view(now)
    if "content" in params and same and (params["content"] is False or not has_edit(call)):
        raise Unverified("no snapshot was taken before the call; what the call shows of the content before it is the "
                         "same, but line ends and byte order marks it does not show", "harness")  # fmt: skip
    if "content" in params and same is params["content"]:
        return f"has {'the' if same else 'another'} content {'that it had' if same else 'than'} before the call", True
    return judge_edits(params, call, told, now)


def has_edit(call: ToolCall) -> bool:
    """Whether the call sent an edit that changes more than line ends."""
    from truecall_py.checks.support.edits import parse_edits

    try:
        return any(edit.old.split() != edit.new.split() for edit in parse_edits(call.args))
    except Unverified:
        return False


def find_original(path: str, call: ToolCall) -> str | None:
    """Return the content before the call as the call reports it, None if it does not."""
    plain = os.path.normpath(path)
    told = next((file.before for file in call.files if os.path.normpath(file.path) == plain), None)
    if told is None and len(call.files) == 1 and os.path.normpath(call.files[0].path) == plain:
        answer = call.response if isinstance(call.response, dict) else {}
        told = next((answer[name] for name in ORIGINALS if isinstance(answer.get(name), str)), None)
    return told


def judge_content(params: dict[str, Any], call: ToolCall, was: dict[str, Any], now: dict[str, Any]) -> tuple[str,
                                                                                                             bool]:
    """Return (what is wrong with the content, whether only this call can have done it), by the content before."""
    if not any(name in params for name in CONTENT):
        return "", False
    if "sha256" not in was:
        raise Unverified("what was there before the call was no file, or too large to be read", "probe")
    then = "in the last commit" if params.get("since") == "head" else "before the call"
    if was.get("converted"):
        raise Unverified(f"git converts this file when it checks it out ({was['converted']})", "world")
    same = was["sha256"] == now["sha256"]
    if params.get("content") is True and same:
        return f"has the content that it had {then}, byte for byte ({now['size']} bytes)", True
    if params.get("content") is False and not same:
        return f"has another content than {then}: {now['size']} bytes, and {was['size']} {then}", False
    from truecall_py.checks.support.line_endings import compare_encoding, compare_endings

    if "line_endings" in params:
        wrong = compare_endings(was, now)
        if wrong:
            return wrong, False
    if "encoding" in params:
        wrong = compare_encoding(was, now, join_sent_text(call), find_untouched_text(call, was))
        if wrong:
            return wrong, False
    return judge_edits(params, call, was, now)


def join_sent_text(call: ToolCall) -> str | None:
    """Return all text that the call put into the file, None if that is unknown."""
    from truecall_py.checks.support.edits import parse_edits

    try:
        return "\n".join(edit.new for edit in parse_edits(call.args))
    except Unverified:
        content = call.args.get("content")
        return content if isinstance(content, str) else None


def find_untouched_text(call: ToolCall, was: dict[str, Any]) -> list[str] | None:
    """Return the pieces of the content before that no edit replaced, None if they are unknown."""
    from truecall_py.checks.support.edits import find_outcomes, list_untouched, parse_edits
    from truecall_py.checks.support.line_endings import is_utf16, read_view

    try:
        return list_untouched(find_outcomes(read_view(was), parse_edits(call.args), is_utf16(was))[0])
    except Unverified:
        return None


def judge_edits(params: dict[str, Any], call: ToolCall, was: dict[str, Any], now: dict[str, Any]) -> tuple[str, bool]:
    """Return (what is wrong with the edits or outside of them, whether this call did it). Raises Unverified."""
    if "rest" not in params and "edits" not in params:
        return "", True
    from truecall_py.checks.support.edits import (
        LANDED,
        LOST,
        find_outcomes,
        find_states,
        is_rest_kept,
        join_pieces,
        parse_edits,
    )
    from truecall_py.checks.support.line_endings import is_utf16, make_readable, read_view

    edits, old, new = parse_edits(call.args), read_view(was), read_view(now)
    if "edits" in params:
        found = find_states(old, new, edits, is_utf16(was))
        lost = [number for number, state in enumerate(found) if state == LOST]
        if lost:
            brought = [edits[number].new or f"the deletion of {edits[number].old}" for number in lost[:3]]
            texts = ", ".join(quote_value(text, 80) for text in brought)
            return f"lost {len(lost)} of {len(edits)} edits: {texts}", True
        if found.count(LANDED) < len(found):
            number = next(number for number, state in enumerate(found) if state != LANDED) + 1
            why = f"edit {number} is not in it was sent, and something else changed the file"
            raise Unverified(why, "probe")
    if "rest" in params and not is_rest_kept(old, new, edits, is_utf16(was)):
        wanted = join_pieces(find_outcomes(old, edits, is_utf16(was))[0])
        return f"changed outside of the edits: {find_first_difference(wanted, new, make_readable)}", False
    return "", True


def find_first_difference(wanted: str, held: str, readable: Any) -> str:
    """Return the first line in which two texts differ, for people."""
    ours, theirs = wanted.split("\n"), held.split("\n")
    for number, (left, right) in enumerate(zip(ours, theirs, strict=False), 1):
        if left != right:
            return f"line {number} is {quote_value(readable(right), 80)} instead of {quote_value(readable(left), 80)}"
    return f"it has {len(theirs)} lines instead of {len(ours)}"


def read_committed(params: dict[str, Any], path: str, world: World) -> dict[str, Any] | None:
    """Return the facts of the file in the last commit, None if the commit does not have it. Raises Unverified."""
    job: dict[str, object] = {"do": "committed", "path": os.path.realpath(path), "project": world.project}
    told: Any = world.slow(job)
    if told.get("nothing"):
        return None
    executable = bool(told["mode"] & 0o100)
    state = {"mode": told["mode"], "executable": executable, "converted": told.get("converted", "")}
    return {**read_facts(params, str(told["text"]).encode("latin-1")), **state}
