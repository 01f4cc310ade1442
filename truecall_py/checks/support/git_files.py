"""The fields of `git` about the work tree, the index, and whether there is a repository. It never runs a filter."""

from __future__ import annotations

import os

from truecall_py.checks.support.git_common import Finding, Look, Part, join_items, refuse_unproven
from truecall_py.checks.support.outcomes import compare_effect
from truecall_py.core.errors import Unverified
from truecall_py.core.types import OLD
from truecall_py.world.git import Repository, find_top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST = 200  # the most changes that a snapshot keeps


# -- nothing uncommitted ---------------------------------------------------------------------------------------


def describe_clean(params: dict[str, Any]) -> str:
    return "nothing uncommitted" + (", nothing untracked" if params["clean"] == "all" else "")


def read_clean(look: Look) -> list[list[str]]:
    """Return (state, path) of uncommitted changes, at most MOST."""
    return [list(row) for row in look.repository.changes(untracked=look.params["clean"] == "all")[:MOST]]


def judge_clean(look: Look, was: Any) -> Finding:
    """Judge `clean`. Raises Unverified where something may hide changes."""
    now = read_clean(look)
    if now:
        return Finding(False,
                       f"{len(now)} uncommitted: {join_items([f'{state} {path}'.strip() for state, path in now])}")
    refuse_hidden_changes(look)
    return Finding(True, "nothing is uncommitted", compare_effect(was, now))


def refuse_hidden_changes(look: Look) -> None:
    """Raise Unverified if something hides uncommitted work from git's own list."""
    repository = look.repository
    if os.path.realpath(repository.root()) != os.path.realpath(find_top(repository.folder)):
        raise Unverified(f"the repository's configuration names another work tree: {repository.root()}", "world")
    modules, unwatched = repository.unwatched()
    if unwatched:
        raise Unverified(f"git was told not to look at {join_items(unwatched)} (update-index)", "world")
    every = look.params["clean"] == "all"
    for path in modules:
        inside = Repository(look.world, os.path.join(repository.root(), path))
        left = inside.changes(untracked=every) if os.path.lexists(os.path.join(inside.folder, ".git")) else ()
        if left:
            raise Unverified(f"{path} is a submodule with something uncommitted in it: {left[0][1]}", "world")
    excluded = repository.excluded() if every else []
    if excluded:
        raise Unverified(f"{join_items(excluded)} is untracked, and left out by this repository's own settings",
                         "world")


# -- the index -------------------------------------------------------------------------------------------------


def describe_staged(params: dict[str, Any]) -> str:
    return f"{join_items(params['staged'])} in the index as in the work tree"


def read_pending(look: Look) -> dict[str, list[str]]:
    """Return the paths that differ between index and work tree."""
    paths = look.params["staged"]
    return {path: [f"{state} {name}" for state, name in list_unstaged(look, path)[:MOST]] for path in paths}


def list_unstaged(look: Look, path: str) -> list[tuple[str, str]]:
    """Return (state, name) of each file below a path that differs from the index."""
    return [(state, name) for state, name in look.repository.changes([path], untracked=True) if state[1] != " "]


def judge_staged(look: Look, was: Any) -> Finding:
    """Judge `staged`. Raises Unverified for a path that changed after the call began."""
    repository = look.repository
    for path in look.params["staged"]:
        left = list_unstaged(look, path)
        later = [row for row in left if may_have_changed_since(look, row[1])]
        certain = [name for state, name in left if (state, name) not in later]
        if certain:
            return Finding(False, f"not in the index as in the work tree: {join_items(certain)}")
        # A file that was staged and then written again, such as a log, was staged.
        doubtful = [name for state, name in later if state[0] not in "AM"]
        if doubtful:
            why = f"{join_items(doubtful)} changed during the call or after it, and is not staged as it is"
            raise Unverified(why, "probe")
        if not left and not repository.tracked(path) and not repository.changes([path]):
            if os.path.isdir(os.path.join(repository.folder, path)):
                return Finding(True, f"{path} holds nothing that could be staged", OLD)
            return Finding(False, f"the index holds nothing at {path}")
    return Finding(True, describe_staged(look.params), compare_effect(was, read_pending(look)))


def may_have_changed_since(look: Look, name: str) -> bool:
    """Whether a file (relative to the top) may have changed after the call began."""
    began = look.world.began(look.call.duration)
    found = look.world.stat(os.path.join(look.repository.root(), name), follow=False)
    return began is None or (found is not None and found.st_mtime >= began)


def read_index(field: str, look: Look) -> dict[str, bool]:
    """Return whether the index has each path of a field."""
    return {path: look.repository.tracked(path) for path in look.params[field]}


def judge_tracked(look: Look, was: Any) -> Finding:
    """Judge `tracked`."""
    now = read_index("tracked", look)
    missing = [path for path, there in now.items() if not there]
    if missing:
        return Finding(False, f"the index holds nothing at {join_items(missing)}", blank=True)
    return Finding(True, f"the index holds {join_items(list(now))}", compare_effect(was, now))


def judge_not_tracked(look: Look, was: Any) -> Finding:
    """Judge `not_tracked`. Raises Unverified if the paths may never have been in the index."""
    now = read_index("not_tracked", look)
    there = [path for path, inside in now.items() if inside]
    if there:
        return Finding(False, f"the index still holds {join_items(there)}")
    found = f"the index holds nothing at {join_items(list(now))}"
    refuse_unproven(look, was, found)
    return Finding(True, found, compare_effect(was, now))


# -- a repository of its own -----------------------------------------------------------------------------------


def list_folders(look: Look) -> list[str]:
    """Return the possible folders of the repository: the named one, else those that git derives from the cloned
    URL."""
    url = look.params.get("cloned")
    if look.params.get("folder") or not url:
        return [look.repository.folder]
    name = url.rstrip("/").removesuffix("/.git").rstrip("/").replace(":", "/").rpartition("/")[2]
    name = name.removesuffix(".git").removesuffix(".bundle")
    return [look.world.resolve(each) for each in (name, f"{name}.git") if each]


def read_own(look: Look) -> list[str]:
    """Return the folders that are a repository of their own."""
    paths = [path for path in list_folders(look) if os.path.isdir(path)]
    return [path for path in paths if Repository(look.world, path).own_top()]


def judge_own(look: Look, was: Any) -> Finding:
    """Judge `repository` and `cloned`."""
    now = read_own(look)
    where = join_items(list_folders(look)[:1])
    found = f"{join_items(now)} is a git repository" if now else f"{where} is no git repository of its own"
    return Finding(bool(now), found, compare_effect(was, now))


PARTS = {
    "repository": Part(lambda params: "a git repository of its own", read_own, judge_own),
    "cloned": Part(lambda params: "a git repository where git clones it to", read_own, judge_own),
    "clean": Part(describe_clean, read_clean, judge_clean),
    "staged": Part(describe_staged, read_pending, judge_staged),
    "tracked": Part(lambda params: f"{join_items(params['tracked'])} in the index",
                    lambda look: read_index("tracked", look), judge_tracked),
    "not_tracked": Part(lambda params: f"{join_items(params['not_tracked'])} in the index no more",
                        lambda look: read_index("not_tracked", look), judge_not_tracked),
}  # fmt: skip
