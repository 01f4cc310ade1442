"""The fields of `git` about commits. A HEAD that merely differs does not prove a commit of this call."""

from __future__ import annotations

from truecall_py.checks.support.git_common import Finding, Look, Part, join_items, shorten
from truecall_py.checks.support.outcomes import compare_effect
from truecall_py.contracts.matchers import describe, has_delta, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, NEW, OLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SLACK = 2.0  # seconds by which clocks may differ
COUNTS = ("files", "insertions", "deletions")


# -- commit --------------------------------------------------------------------------------------------------


def describe_commit(params: dict[str, Any]) -> str:
    whole = ", with every change of a tracked file in it" if params["commit"] == "all" else ""
    return f"a commit that this call made{whole}"


def read_commit(look: Look) -> dict[str, Any]:
    """Return HEAD, whether anything is staged, and the length of the reflog."""
    repository = look.repository
    return {"head": repository.head(), "staged": bool(repository.staged()), "log": repository.logged()}


def judge_commit(look: Look, was: Any) -> Finding:
    """Judge `commit` by the reflog, else by HEAD and commit time. Raises Unverified where neither decides."""
    repository = look.repository
    began = look.world.began(look.call.duration)
    if was is ABSENT and began is None:
        raise Unverified("nobody saw HEAD before the call, nor says when the call began", "harness")
    now = repository.head()
    fresh = is_recent(look, now, began) if now and began is not None else False
    if was is ABSENT and fresh is None:
        raise Unverified(f"{shorten(now)} was committed at about the time at which the call began", "probe")
    if was is ABSENT:
        return Finding(True, describe_new_commit(look, now), NEW) if fresh else judge_unmoved_head(look, now, False)
    logged = [commit for commit, what in repository.movements(was["log"]) if what.startswith("commit")]
    if logged:
        if not repository.kept(logged[-1]):
            return Finding(False, f"{shorten(logged[-1])} was committed and taken back: HEAD is at {shorten(now)}")
        return Finding(True, describe_new_commit(look, logged[-1]), NEW)
    if now == was["head"]:
        return judge_unmoved_head(look, now, was["staged"])
    if fresh and is_successor(look, was["head"], now):
        return Finding(True, describe_new_commit(look, now), NEW)
    moved = f"HEAD moved from {shorten(was['head'])} to {shorten(now)}"
    why = f"{moved}, and nothing shows that this call made that commit"
    raise Unverified(why, "probe")


def is_recent(look: Look, now: str, began: float) -> bool | None:
    """Whether a commit was made after the call began. None if neither its time (whole seconds, chosen by the
    committer) nor the reflog of HEAD decides."""
    committed = look.repository.commit(now).committed
    if committed < int(began):
        return False
    if int(began) < committed <= look.world.wall() + SLACK:
        return True
    log = look.world.stat(look.repository.log())
    if log is None or log.st_mtime < began:
        return None
    last = look.repository.movements(0)[-1:]
    return True if last and last[0][0] == now and last[0][1].startswith("commit") else None


def is_successor(look: Look, old: str, new: str) -> bool:
    """Whether a commit comes after the old HEAD, or replaces it by an amend."""
    if not old or look.repository.ancestor(old, new):
        return True
    return look.repository.commit(old).parents == look.repository.commit(new).parents


def describe_new_commit(look: Look, now: str) -> str:
    return f"the new commit is {shorten(now)} {quote_value(look.repository.commit(now).subject, 60)}"


def judge_unmoved_head(look: Look, now: str, staged_before: bool) -> Finding:
    """Return the Finding for a HEAD that did not move: refuted if there was anything to commit."""
    where = f"HEAD is still at {shorten(now)}" if now else "there is no commit yet"
    staged = look.repository.staged()
    if staged:
        return Finding(False, f"{where}, and what is staged is not committed: {join_items(staged)}")
    if staged_before:
        return Finding(False, f"{where}, and what was staged before the call is staged no more")
    if look.params["commit"] == "all":
        changed = [path for _, path in look.repository.changes()]
        if changed:
            return Finding(False, f"{where}, and changes are not committed: {join_items(changed)}")
    return Finding(True, f"{where}, and nothing is staged that could be committed", OLD)


# -- HEAD and the last commit ----------------------------------------------------------------------------------


def describe_head(params: dict[str, Any]) -> str:
    return "HEAD at another commit than before the call" if params["head"] == "moved" else "HEAD as before the call"


def read_head(look: Look) -> dict[str, Any]:
    """Return HEAD and the length of the reflog."""
    return {"head": look.repository.head(), "log": look.repository.logged()}


def judge_head(look: Look, was: Any) -> Finding:
    """Judge `head`. Raises Unverified without a snapshot."""
    if was is ABSENT:
        raise Unverified("nobody saw HEAD before the call", "harness")
    repository, then = look.repository, was["head"]
    now = repository.head()
    if now != then:
        return Finding(look.params["head"] == "moved", f"HEAD moved from {shorten(then)} to {shorten(now)}", NEW)
    if look.params["head"] == "moved":  # a hook may have switched to another branch after the commit
        made = [commit for commit, what in repository.movements(was["log"]) if what.startswith("commit")][-1:]
        if made and made[0] != now and repository.kept(made[0]):
            return Finding(True, f"HEAD was at the new commit {shorten(made[0])}, and is back at {shorten(now)}", NEW)
    return Finding(look.params["head"] == "kept", f"HEAD is still at {shorten(now)}")


def read_subject(look: Look) -> list[str]:
    """Return HEAD and the subject of its commit, "" without one."""
    head = look.repository.head()
    return [head, look.repository.commit(head).subject if head else ""]


def judge_subject(look: Look, was: Any) -> Finding:
    """Judge `subject`."""
    now = read_subject(look)
    matcher = look.params["subject"]
    value = now[1] if now[0] else ABSENT
    before = None if was is ABSENT else ((was[1] if was[0] else ABSENT),)
    found = f"the last commit is {shorten(now[0])} {quote_value(now[1], 100)}" if now[0] else "there is no commit yet"
    return Finding(matches(matcher, value, look.world, before=before), found, compare_effect(was, now))


def read_lines(look: Look) -> dict[str, Any]:
    """Return HEAD and the counts of its commit, 0 without one."""
    head = look.repository.head()
    return {"head": head, **(look.repository.lines() if head else dict.fromkeys(COUNTS, 0))}


def judge_lines(look: Look, was: Any) -> Finding:
    """Judge `lines_changed`. Raises Unverified for an unknown count."""
    now = read_lines(look)
    for name, matcher in look.params["lines_changed"].items():
        if name not in COUNTS:
            raise Unverified(f"lines_changed has no {name}; it has {', '.join(COUNTS)}", "contract")
        if not matches(matcher, now[name], look.world, before=None if was is ABSENT else (was[name],)):
            return Finding(False, f"{now[name]} {name} in the last commit {shorten(now['head'])}")
    counted = ", ".join(f"{now[name]} {name}" for name in COUNTS)
    return Finding(True, f"{counted} in the last commit {shorten(now['head'])}", compare_effect(was, now))


# -- what holds what -------------------------------------------------------------------------------------------


def list_pairs(params: dict[str, Any], name: str) -> list[list[str]]:
    """Return (older, newer) revisions."""
    if name == "contains":
        return [[each, "HEAD"] for each in params["contains"]]
    if len(params["ancestor"]) != 2:
        raise Unverified("ancestor takes two revisions: the older one, then the newer one", "contract")
    return [params["ancestor"]]


def read_ancestry(look: Look, name: str) -> list[list[Any]]:
    """Return [older, newer, whether it is an ancestor] of every pair."""
    found = []
    for older, newer in list_pairs(look.params, name):
        ids = [look.repository.resolve(each + "^{commit}") for each in (older, newer)]
        for revision, commit in zip((older, newer), ids, strict=True):
            if not commit:
                raise Unverified(f"{revision} names no commit here", "probe")
        found.append([ids[0], ids[1], look.repository.ancestor(*ids)])
    return found


def make_ancestry_part(name: str) -> Part:
    """Return the Part of `contains` or `ancestor`."""
    def words(params: dict[str, Any]) -> str:
        return " and ".join(f"{older} in the history of {newer}" for older, newer in list_pairs(params, name))

    def judged(look: Look, was: Any) -> Finding:
        now = read_ancestry(look, name)
        for (older, newer), (one, other, inside) in zip(list_pairs(look.params, name), now, strict=True):
            if not inside:
                return Finding(False, f"{older} ({shorten(one)}) is not in the history of {newer} ({shorten(other)})")
        return Finding(True, words(look.params), compare_effect(was, now))

    return Part(words, lambda look: read_ancestry(look, name), judged)


def needs_snapshot(params: dict[str, Any]) -> bool:
    if "commit" in params or "head" in params:
        return True
    return has_delta(params.get("subject")) or has_delta(params.get("lines_changed"))


PARTS = {
    "commit": Part(describe_commit, read_commit, judge_commit),
    "head": Part(describe_head, read_head, judge_head),
    "subject": Part(lambda params: f"a last commit whose subject {describe(params['subject'])}",
                    read_subject, judge_subject),
    "lines_changed": Part(
        lambda params: "a last commit with " + " and ".join(
            f"{name} that {describe(matcher)}" for name, matcher in params["lines_changed"].items()
        ), read_lines, judge_lines),
    "contains": make_ancestry_part("contains"),
    "ancestor": make_ancestry_part("ancestor"),
}  # fmt: skip
