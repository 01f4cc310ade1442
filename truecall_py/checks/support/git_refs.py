"""The fields of `git` about branches, tags, other refs and work trees. A ref of another name never counts."""

from __future__ import annotations

import os

from truecall_py.checks.support.git_common import Finding, Look, Part, join_items, refuse_unproven, shorten
from truecall_py.checks.support.outcomes import compare_effect
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, OLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- the current branch ----------------------------------------------------------------------------------------


def locate_worktree(look: Look) -> str:
    """Return the work tree that the contract names, as git lists it."""
    return os.path.realpath(look.world.resolve(look.params["worktree"]))


def read_branch(look: Look) -> str:
    """Return the branch checked out in the work tree, "" without one."""
    if look.params.get("worktree"):
        return look.repository.worktrees().get(locate_worktree(look), "")
    return look.repository.branch()


def judge_branch(look: Look, was: Any) -> Finding:
    """Judge `branch`."""
    now = read_branch(look)
    if now:
        found = f"the current branch is {now}"
    else:
        found = f"no branch is checked out, HEAD is at {shorten(look.repository.head())}"
    return Finding(now == look.params["branch"], found, compare_effect(was, now))


def read_upstream(look: Look) -> str:
    """Return the upstream of a branch, "" without one."""
    name = look.params.get("branch") or look.repository.branch()
    if not name:
        return ""
    return look.repository.told("for-each-ref", "--format=%(upstream:short)", f"refs/heads/{name}").strip()


def judge_upstream(look: Look, was: Any) -> Finding:
    """Judge `upstream`."""
    now = read_upstream(look)
    found = f"the branch follows {now}" if now else "the branch follows none"
    return Finding(now == look.params["upstream"], found, compare_effect(was, now))


# -- refs ------------------------------------------------------------------------------------------------------


def read_refs(field: str, look: Look) -> dict[str, str]:
    """Return the names of a field with their ids ("" without one)."""
    return {name: look.repository.ref(name) for name in look.params[field]}


def describe_ref(params: dict[str, Any]) -> str:
    where = f" at {params['at']}" if params.get("at") else ""
    return f"the ref {join_items(params['ref'])}{where}"


def judge_ref(look: Look, was: Any) -> Finding:
    """Judge `ref` and `at`. Raises Unverified if `at` names nothing."""
    now = read_refs("ref", look)
    missing = [name for name, at in now.items() if not at]
    if missing:
        return Finding(False, f"there is no {join_items(missing)}", blank=True)
    revision = look.params.get("at")
    if revision:
        wanted = look.repository.resolve(f"{revision}^{{}}")
        if not wanted:
            raise Unverified(f"{revision} names nothing here", "probe")
        for name in now:
            at = look.repository.resolve(f"{now[name]}^{{}}")
            if at != wanted:
                return Finding(False, f"{name} is at {shorten(at)}, and {revision} at {shorten(wanted)}")
    return Finding(True, join_items([f"{name} is at {shorten(at)}" for name, at in now.items()]),
                   compare_effect(was, now))


def judge_no_ref(look: Look, was: Any) -> Finding:
    """Judge `no_ref`. Raises Unverified for a short name that may mean a remote branch."""
    now = read_refs("no_ref", look)
    there = [f"{name} is at {shorten(at)}" for name, at in now.items() if at]
    if there:
        return Finding(False, join_items(there))
    for name in now:
        follows = f"refs/remotes/{name}"
        if not name.startswith("refs/") and look.repository.ref(follows):
            why = f"there is no branch or tag {name}, but {follows} is there; say which is meant by its full name"
            raise Unverified(why, "contract")
    found = f"there is no {join_items(list(now))}"
    refuse_unproven(look, was, found)
    return Finding(True, found, compare_effect(was, now))


def judge_unmoved(look: Look, was: Any) -> Finding:
    """Judge `unmoved`. Raises Unverified without a snapshot."""
    if was is ABSENT:
        raise Unverified("nobody saw these refs before the call", "harness")
    now = read_refs("unmoved", look)
    others = [name for name in now if now[name] != was[name]]
    moved = [f"{name} moved from {shorten(was[name])} to {shorten(now[name])}" for name in others]
    return Finding(not moved, join_items(moved) or f"{join_items(list(now))} as before")


# -- work trees ------------------------------------------------------------------------------------------------


def read_worktree(look: Look) -> list[Any]:
    """Return [whether it is registered, whether the folder exists]."""
    place = locate_worktree(look)
    return [place in look.repository.worktrees(), look.world.stat(place) is not None]


def judge_worktree(look: Look, was: Any) -> Finding:
    """Judge `worktree`."""
    now = read_worktree(look)
    place = locate_worktree(look)
    if not now[0]:
        return Finding(False, f"{place} is no work tree of the repository", blank=True)
    if not now[1]:
        return Finding(False, f"{place} is registered as a work tree, and the folder is not there")
    return Finding(True, f"{place} is a work tree", compare_effect(was, now))


def locate_no_worktree(look: Look) -> str:
    return os.path.realpath(look.world.resolve(look.params["no_worktree"]))


def read_no_worktree(look: Look) -> bool:
    return locate_no_worktree(look) in look.repository.worktrees()


def judge_no_worktree(look: Look, was: Any) -> Finding:
    """Judge `no_worktree`."""
    place = locate_no_worktree(look)
    if read_no_worktree(look):
        return Finding(False, f"{place} is still a work tree of the repository")
    found = f"{place} is no work tree of the repository"
    refuse_unproven(look, was, found)
    return Finding(True, found, OLD if was is False else compare_effect(was, False))


PARTS = {
    "branch": Part(lambda params: f"the branch {params['branch']} checked out", read_branch, judge_branch),
    "upstream": Part(lambda params: f"the upstream {params['upstream']}", read_upstream, judge_upstream),
    "ref": Part(describe_ref, lambda look: read_refs("ref", look), judge_ref),
    "no_ref": Part(lambda params: f"no ref {join_items(params['no_ref'])}",
                   lambda look: read_refs("no_ref", look), judge_no_ref),
    "unmoved": Part(lambda params: f"{join_items(params['unmoved'])} where it was before the call",
                    lambda look: read_refs("unmoved", look), judge_unmoved),
    "worktree": Part(lambda params: f"a work tree at {params['worktree']}", read_worktree, judge_worktree),
    "no_worktree": Part(lambda params: f"no work tree at {params['no_worktree']}",
                        read_no_worktree, judge_no_worktree),
}  # fmt: skip
