"""file_exists: a file exists with the wanted properties. A folder, a device or a differently spelt name is not the
wanted file."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.checks import LOGIC
from truecall_py.checks.support.git_worktree import find_strayed_checkout
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import compare_effect, refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "file_exists"
SUMMARY = "A file, folder or link exists, with the expected content, size, mode or age."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 2.4
FIELDS = (
    field("path", "path", "The path, relative to the folder where the call started.", required=True, templated=True),
    field("type", "choice", "The expected type. A link counts as its target, except for symlink.",
          default="file", choices=("file", "dir", "symlink", "any")),
    field("min_size", "count", "At least this many bytes."),
    field("max_size", "count", "At most this many bytes."),
    field("contains", "text", "Text in the file.", templated=True),
    field("not_contains", "text", "Text that is not in the file.", templated=True),
    field("matches", "pattern", "A regular expression that matches in the file."),
    field("equals", "text", "The whole content, byte for byte.", templated=True),
    field("not_lost", "text",
          "The sent text: refuted only if it was lost (the file is empty, unchanged or cut off).",
          templated=True),
    field("sha256", "text", "The SHA-256 of the content, in hexadecimal.", templated=True),
    field("mode", "octal", "The permission bits, e.g. \"0755\"."),
    field("newer_than", "choice", "call: changed after the call began (also if unpacked or moved there).",
          choices=("call",)),
    field("worktree", "choice", "own: not in the main checkout while the session works in a linked git worktree.",
          choices=("own",)),
)  # fmt: skip
ASSERTS = ()
MARKS_FILE = True
ONLY_AFTER = {"newer_than": (), "not_lost": ()}
TRIVIAL = {"min_size": (0, "every file has at least 0 bytes", "write min_size: 1, or remove it")}
SYNONYMS = ("file", "exists")
EXAMPLES = (
    {
        "title": "the note holds what was sent",
        "files": {"notes/a.md": "hello\n"},
        "check": {"path": "notes/a.md", "contains": "hello"},
        "verdict": "verified",
    },
    {
        "title": "reported, but missing",
        "files": {},
        "check": {"path": "notes/a.md"},
        "verdict": "refuted",
    },
)

KINDS = {
    "file": (modes.S_ISREG, "a file"),
    "dir": (modes.S_ISDIR, "a folder"),
    "symlink": (modes.S_ISLNK, "a symbolic link"),
}
NAMED = (
    (modes.S_ISREG, "a file"),
    (modes.S_ISDIR, "a folder"),
    (modes.S_ISLNK, "a symbolic link"),
    (modes.S_ISFIFO, "a named pipe"),
    (modes.S_ISSOCK, "a socket"),
    (modes.S_ISCHR, "a device"),
    (modes.S_ISBLK, "a device"),
)
CONTENT = ("contains", "not_contains", "matches", "equals", "not_lost", "sha256")
# seconds: clocks of file systems are a few milliseconds late, and a hook starts a little after its call ended
SLACK = 2.0


def name_file_type(mode: int) -> str:
    return next((name for test, name in NAMED if test(mode)), "something else")


def expect(params: dict[str, Any]) -> str:
    what = {"file": "a file", "dir": "a folder", "symlink": "a link", "any": "something"}[params.get("type", "file")]
    words = [f"{what} at {params['path']}"]
    for name, phrase in (
        ("min_size", "of at least {} bytes"),
        ("max_size", "of at most {} bytes"),
        ("contains", "that contains {}"),
        ("not_contains", "that does not contain {}"),
        ("matches", "that matches {}"),
        ("equals", "whose content is {}"),
        ("not_lost", "that did not lose {}"),
        ("sha256", "whose SHA-256 is {}"),
        ("mode", "with mode {}"),
    ):
        if params.get(name) is not None:
            value = params[name]
            words.append(phrase.format(quote_value(value) if isinstance(value, str) and name != "mode" else value))
    if params.get("newer_than"):
        words.append("changed by this call")
    return ", ".join(words)


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    kind = params.get("type", "file")
    path, found = find_file(params, world)
    if found is None:
        if is_base_gone(params["path"], world):
            return unverified(expected, f"the folder {world.base} is gone, with all that was in it", "world")
        dangling = world.stat(path, follow=False)
        what = f"a link that points to nothing at {path}" if dangling else f"nothing at {path}"
        return refuted(expected, what, find_nearest(path, world, call.response is ABSENT), blank=True)
    if not world.spelt_exactly(path):
        return refuted(expected, f"only a differently spelt name at {path}", find_nearest(path, world))
    if kind != "any" and not KINDS[kind][0](found.st_mode):
        return refuted(expected, f"{name_file_type(found.st_mode)} at {path}")
    wrong = judge_attributes(params, found)
    if wrong:
        return refuted(expected, f"{path} {wrong}")
    if params.get("newer_than"):
        wrong = explain_age(path, found, world.earlier(NAME, params), world.began(call.duration), world)
        if wrong:
            return refuted(expected, wrong)
    if params.get("worktree"):
        main = find_strayed_checkout(path, world.session or call.cwd, world)
        if main:
            where = f"{path} lies in the main checkout {main}; the session works in {world.session or call.cwd}"
            return refuted(f"{expected}, in the session's own worktree", where)
    wrong = judge_content(params, path, call, world)
    if wrong:
        return refuted(expected, wrong)
    return verified(expected, f"{path}, {found.st_size} bytes",
                    compare_effect(world.earlier(NAME, params), build_mark(found)))


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> list[int] | None:
    """Return the `file_mark` of the path before the call, None if nothing exists there."""
    found = find_file(params, world)[1]
    return None if found is None else build_mark(found)


def needs_snapshot(params: dict[str, Any]) -> bool:
    """Never: without a snapshot, the times decide whether the file is new."""
    return False


def find_file(params: dict[str, Any], world: World) -> tuple[str, os.stat_result | None]:
    """Return (the absolute path, what exists there). A link is followed unless the contract means the link itself."""
    path = world.resolve(params["path"])
    follow = params.get("type", "file") not in ("symlink", "any")
    path = path if follow else strip_slashes(path)
    return path, world.stat(path, follow)


def strip_slashes(path: str) -> str:
    """Return the path without slashes at its end, which would make a link be followed."""
    while path.endswith(("/", "/.")) and len(path) > 1:
        path = path[:-1] if path.endswith("/") else path[:-2] or "/"
    return path


def explain_age(path: str, found: os.stat_result, earlier: Any, began: float | None, world: World) -> str:
    """Return why a file did not change after the call began, "" if it did. A snapshot decides by the mark. Without
    one, the times decide: ctime, which no program can set, and mtime. Raises Unverified if they cannot."""
    if began is None:
        raise Unverified("neither the harness nor a snapshot says when the call began", "harness")
    last = max(found.st_mtime, found.st_ctime)
    if earlier is not ABSENT:
        if earlier != build_mark(found):
            return ""
        if found.st_ctime_ns % 10**9 == 0 and last >= began - SLACK:  # a file system that stores whole seconds
            raise Unverified(f"{path} was changed within {SLACK:.0f} s of the start of the call", "probe")
        return f"{path} is as it was before the call: last changed {max(0.0, world.wall() - last):.0f} s ago"
    if last > world.wall() + SLACK:
        raise Unverified(f"{path} has a time that is still to come, so when it changed cannot be told", "world")
    if last < began - SLACK:
        return f"{path} was last changed {world.wall() - last:.0f} s ago, before the call"
    if found.st_ctime < began:
        raise Unverified(f"{path} was changed within {SLACK:.0f} s of the start of the call", "probe")
    return ""


def build_mark(found: os.stat_result) -> list[int]:
    """Return values that change with every write to a file, even of the same bytes."""
    return [found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def is_base_gone(path: str, world: World) -> bool:
    """Whether a relative path starts in a folder that no longer exists, so that its content is unknown."""
    return not path.startswith(("/", "~")) and world.base is not None and world.stat(world.base) is None


def judge_attributes(params: dict[str, Any], found: os.stat_result) -> str:
    size, mode = found.st_size, modes.S_IMODE(found.st_mode)
    if params.get("min_size") is not None and size < params["min_size"]:
        return f"has {size} bytes"
    if params.get("max_size") is not None and size > params["max_size"]:
        return f"has {size} bytes"
    if params.get("mode") is not None and mode != int(params["mode"], 8):
        return f"has mode {mode:04o}"
    return ""


def judge_content(params: dict[str, Any], path: str, call: ToolCall, world: World) -> str:
    """Return what is wrong with the content, "" if it is right."""
    if not any(params.get(name) is not None for name in CONTENT):
        return ""
    held = world.read(path)
    wanted = params.get("equals")
    if wanted is not None and held != wanted.encode("utf-8", "surrogatepass"):
        return f"{path} {find_difference(wanted, held)}"
    part = params.get("contains")
    if part == "":
        raise Unverified("every file contains an empty text", "contract")
    if part is not None and part.encode("utf-8", "surrogatepass") not in held:
        return f"{path} ({len(held)} bytes) does not contain it"
    part = params.get("not_contains")
    if part is not None and part.encode("utf-8", "surrogatepass") in held:
        return f"{path} contains it"
    sent = params.get("not_lost")
    if sent is not None:
        from truecall_py.checks.support.lost_write import explain_loss, find_content_before

        lost = explain_loss(sent, find_content_before(path, call), held)
        if lost:
            return f"{path} {lost}"
    if params.get("sha256") is not None:
        from truecall_py.core.hashing import sha256

        digest = sha256(held)
        if digest != params["sha256"].strip().lower():
            return f"{path} has the SHA-256 {digest}"
    pattern = params.get("matches")
    if pattern is not None and not world.search(pattern, held.decode("utf-8", "replace")):
        return f"{path} ({len(held)} bytes) does not match"
    return ""


def find_difference(wanted: str, held: bytes) -> str:
    """Return the first difference of the content, for people: its line, and both texts."""
    theirs = held.decode("utf-8", "replace")
    if not theirs:
        return "is empty"
    if wanted.startswith(theirs):
        return f"ends after {len(held)} bytes, before the end of what was expected"
    for number, (ours, other) in enumerate(zip(wanted.split("\n"), theirs.split("\n"), strict=False), 1):
        if ours != other:
            return f"differs from line {number} on: {quote_value(other, 80)} instead of {quote_value(ours, 80)}"
    return f"goes on after what was expected ({len(held)} bytes)"
