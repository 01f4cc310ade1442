"""files: the wanted number of files match a glob. What cannot be read never counts as nothing, and an absence is no
removal."""

from __future__ import annotations

import stat as modes

from truecall_py.checks import LOGIC
from truecall_py.checks.support.glob_walk import find_entries
from truecall_py.checks.support.outcomes import compare_effect, refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import as_number, describe, has_delta, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, OLD, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any

    from truecall_py.world.world import World

NAME = "files"
SUMMARY = "The expected number of files match a glob, by type, or changed by this call."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 2.4
FIELDS = (
    field("glob", "glob", "The glob, relative to the folder where the call started. * is any name, ? one character, "
          "** any folders. A leading dot must be written. A value of the call is never a wildcard.",
          required=True, templated=True),
    field("count", "operand", "The number of files, or a matcher on it (increased_by works).",
          default={"at_least": 1}, templated=True),
    field("type", "choice", "The type to count; a link is neither a file nor a folder.", default="file",
          choices=("file", "dir", "any")),
    field("newer_than", "choice", "call: count only files that changed after the call began.", choices=("call",)),
    field("vacuous", "choice", "ok: a count of 0 holds without proof that there were any before.",
          choices=("ok",)),
)  # fmt: skip
ASSERTS = ()
ONLY_AFTER = {"newer_than": ()}
EXAMPLES = (
    {
        "title": "the build made two bundles",
        "before": {},
        "files": {"dist/app.js": "1\n", "dist/lib/vendor.js": "2\n", "dist/app.map": "{}\n"},
        "check": {"glob": "dist/**/*.js", "count": 2},
        "verdict": "verified",
    },
    {
        "title": "reported one more migration, but there is none",
        "before": {"files": {"migrations/001.sql": "select 1;\n"}},
        "check": {"glob": "migrations/*.sql", "count": {"increased_by": 1}},
        "verdict": "refuted",
    },
    {
        "title": "no temporary file is left",
        "before": {"files": {"data.tmp": "x\n"}},
        "setup": "rm data.tmp",
        "check": {"glob": "*.tmp", "count": 0},
        "verdict": "verified",
    },
    {
        "title": "there never was a temporary file",
        "before": {},
        "check": {"glob": "*.tmp", "count": 0},
        "verdict": "unverified",
    },
)

SHOWN = 5  # paths in a message
SLACK = 2.0  # seconds by which clocks of file systems may differ
NAMED = 2000  # the most files whose marks a snapshot keeps
WORDS = {"file": ("file", "files"), "dir": ("folder", "folders"), "any": ("entry", "entries")}


def expect(params: dict[str, Any]) -> str:
    changed = " changed by this call" if params.get("newer_than") else ""
    what = WORDS[params.get("type", "file")][1]
    return f"{what} {params['glob']}{changed}, whose number {describe(params.get('count') or {'at_least': 1})}"


def needs_snapshot(params: dict[str, Any]) -> bool:
    count = params.get("count")
    none = isinstance(count, dict) and (count.get("equals") == 0 or count.get("at_most") == 0)
    return has_delta(count) or (none and params.get("vacuous") != "ok")


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any]:
    """Return the number of matches before the call, a digest of them and, if the contract counts changed files, the
    mark of each."""
    found = find_matches(params, world)
    told: dict[str, Any] = {"count": len(found), "digest": digest_marks(found)}
    if params.get("newer_than") and len(found) <= NAMED:
        told["marks"] = {path: build_mark(each) for path, each in found.items()}
    return told


def find_matches(params: dict[str, Any], world: World) -> dict[str, os.stat_result]:
    """Return everything that matches the glob, by path. Raises Unverified."""
    kind = params.get("type", "file")
    wanted = {"file": modes.S_ISREG, "dir": modes.S_ISDIR}.get(kind)
    return {path: found for path, found in find_entries(params["glob"], world) if not wanted or wanted(found.st_mode)}


def build_mark(found: os.stat_result) -> list[int]:
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def digest_marks(found: dict[str, os.stat_result]) -> str:
    from truecall_py.core.fast_json import dumps
    from truecall_py.core.hashing import sha256

    return sha256(dumps(sorted((path, build_mark(each)) for path, each in found.items())).encode())


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    matcher = params.get("count") or {"at_least": 1}
    unlike = [value for name,
              value in matcher.items() if name in ("equals", "not_equals") and as_number(value) is None]
    if unlike:
        raise Unverified(f"count needs a number and got {quote_value(unlike[0], 60)}", "contract")
    found = find_matches(params, world)
    earlier = world.earlier(NAME, params)
    sure = found
    unsure: dict[str, os.stat_result] = {}
    if params.get("newer_than"):
        if has_delta(matcher):
            raise Unverified("newer_than and a comparison with before the call do not go together", "contract")
        sure, unsure = select_newer(found, earlier, world.began(call.duration), world.wall())
    then = None if earlier is ABSENT else (earlier["count"],)
    possible = range(len(sure), len(sure) + len(unsure) + 1)
    held = {matches(matcher, count, world, before=then) for count in (possible if len(possible) < 1000 else ())}
    told = describe_count(params, sure, found, earlier)
    if len(held) != 1:
        raise Unverified(f"{told}; of {len(unsure)} more it cannot be told whether this call changed them", "probe")
    if held == {False}:
        if has_delta(matcher) and not world.alone(NAME, params):
            raise Unverified(f"{told}, but another call that could change it ran at the same time", "probe")
        return refuted(expected, told, blank=not found)
    effect = compare_effect(earlier if earlier is ABSENT else earlier["digest"], digest_marks(found))
    if matcher.get("increased_by") == 0 and effect == OLD and earlier["count"]:
        return verified(expected, told)  # the contract requires that nothing changed
    if sure:
        return verified(expected, told, effect)
    if params.get("vacuous") == "ok" or (params.get("newer_than") and found):
        return verified(expected, told)  # other files match, so the glob is right
    if earlier is ABSENT:
        return unverified(expected, f"{told}, and nothing proves that there were any before", "harness")
    return verified(expected, told, effect)  # nothing matched before either, so nothing changed


def select_newer(
    found: dict[str, os.stat_result], earlier: Any, began: float | None, now: float
) -> tuple[dict[str, os.stat_result], dict[str, os.stat_result]]:
    """Return (those that changed since the call began, those for which that is unknown). A time later than `now` says
    nothing. Raises Unverified if neither a snapshot nor the client says when the call began."""
    marks = None if earlier is ABSENT else earlier.get("marks")
    if marks is not None:
        return {path: each for path, each in found.items() if marks.get(path) != build_mark(each)}, {}
    if began is None:
        raise Unverified("neither the harness nor a snapshot says when the call began", "harness")
    sure = {path: each for path, each in found.items() if began <= each.st_mtime <= now + SLACK}
    # An unpacked or moved file keeps its old time, but the time of its entry (ctime) is new.
    near = {path: each for path, each in found.items() if path not in sure
            and max(each.st_mtime, each.st_ctime) >= began - SLACK}  # fmt: skip
    return sure, near


def describe_count(params: dict[str, Any], sure: dict[str, Any], found: dict[str, Any], earlier: Any) -> str:
    """Return what was counted, with the first names."""
    kind = params.get("type", "file")
    words = f"{len(sure)} {WORDS[kind][len(sure) != 1]}"
    if params.get("newer_than"):
        words += f" of {len(found)} changed by this call"
    elif earlier is not ABSENT:
        words += f", and {earlier['count']} before the call"
    names = sorted(sure)[:SHOWN]
    more = ", ..." if len(sure) > SHOWN else ""
    return f"{words}: {', '.join(names)}{more}" if names else words
