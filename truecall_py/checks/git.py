"""git: a repository, and its remote itself, have the wanted commit, branch, tag or file. It never runs what the
repository names, and never takes the tracking ref, or no answer of git, for the state of the remote."""

from __future__ import annotations

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.git_common import Finding, Look, Part
from truecall_py.checks.support.outcomes import refuted, verified
from truecall_py.contracts.field import field
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, NEW, OLD, Outcome, ToolCall
from truecall_py.world.git import Repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

NAME = "git"
SUMMARY = "A git repository and its remote have the expected commit, branch, tag or file."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 5.0
FIELDS = (
    field("folder", "path", "A folder in the repository; default: the one in which the command ran.", templated=True),
    field("repository", "choice", "own: the folder itself is a repository.", choices=("own",)),
    field("cloned", "text", "The cloned URL: its target folder (or `folder`) is a repository.",
          templated=True),
    field("commit", "choice", "made: the call made a commit, and HEAD is at it; all: with `commit -a`. With nothing "
          "staged and the same HEAD, it is vacuous.", choices=("made", "all")),
    field("head", "choice", "moved or kept: HEAD, compared with before the call.", choices=("moved", "kept")),
    field("subject", "matcher", "The subject of the last commit.", templated=True),
    field("lines_changed", "matchers", "insertions, deletions and files of the last commit, each with a matcher.",
          templated=True),
    field("contains", "texts", "Revisions in the history of HEAD.", templated=True),
    field("ancestor", "texts", "Two revisions: the first is in the history of the second.", templated=True),
    field("branch", "text", "The current branch (with `worktree`: the one of that work tree).", templated=True),
    field("upstream", "text", "The upstream of the current branch (or `branch`), e.g. origin/main.", templated=True),
    field("ref", "texts", "Refs that exist: full names (refs/...), or names of branches or tags.", templated=True),
    field("at", "text", "The revision that `ref` points to.", templated=True),
    field("no_ref", "texts", "Refs that do not exist.", templated=True),
    field("unmoved", "texts", "Refs that point to the same revision as before the call.", templated=True),
    field("worktree", "path", "A folder that is a work tree of the repository.", templated=True),
    field("no_worktree", "path", "A folder that is not a work tree.", templated=True),
    field("clean", "choice", "tracked: nothing is uncommitted; all: nothing is untracked either.",
          choices=("tracked", "all")),
    field("staged", "texts", "Paths that are the same in the index and in the work tree.", templated=True),
    field("tracked", "texts", "Paths in the index.", templated=True),
    field("not_tracked", "texts", "Paths that are not in the index.", templated=True),
    field("vacuous", "choice", "ok: no_ref, not_tracked, no_worktree and a pushed `:name` hold without a "
          "snapshot.", choices=("ok",)),
    field("pushed", "boolean", "true: the remote, asked now, has the pushed commit."),
    field("remote", "text", "The remote of `pushed`: a name or URL; default: as `git push` chooses.", templated=True),
    field("refspec", "text", "The pushed refs, as for `git push` (:name, deleted; +name, exactly that; + alone, "
          "exactly the current branch); default: the current branch.", templated=True),
)  # fmt: skip
QUALIFIERS = ("folder", "at", "vacuous", "remote", "refspec")  # these say where to look, and assert nothing
ASSERTS = tuple(each.name for each in FIELDS if each.name not in QUALIFIERS)
ONLY_AFTER = {"commit": (), "head": (), "unmoved": (), "pushed": ()}
MODULES = {
    "git_files": ("repository", "cloned", "clean", "staged", "tracked", "not_tracked"),
    "git_history": ("commit", "head", "subject", "lines_changed", "contains", "ancestor"),
    "git_refs": ("branch", "upstream", "ref", "no_ref", "unmoved", "worktree", "no_worktree"),
    "git_push": ("pushed",),
}
REPOSITORY = "git init -q -b main .; echo 1 > a; git add a; git commit -qm one; "
REMOTE = f"git init -q --bare r.git; mkdir w; cd w; {REPOSITORY} git remote add origin ../r.git; "
EXAMPLES = (
    {
        "title": "a commit was made, and HEAD is at it",
        "before": {"setup": REPOSITORY + "echo 2 > a"},
        "setup": "git commit -qam two",
        "check": {"commit": "made", "subject": {"contains": "two"}},
        "verdict": "verified",
    },
    {
        "title": "reported, but the staged changes are not committed",
        "before": {"setup": REPOSITORY + "echo 2 > a; git add a"},
        "check": {"commit": "made"},
        "verdict": "refuted",
    },
    {
        "title": "the remote has the commit",
        "before": {"setup": REMOTE},
        "setup": "cd w; git push -q origin main",
        "check": {"folder": "w", "pushed": True, "remote": "origin"},
        "verdict": "verified",
    },
    {
        "title": "the tracking ref moved, but the remote does not have the commit",
        "setup": REMOTE + "git update-ref refs/remotes/origin/main HEAD",
        "check": {"folder": "w", "pushed": True},
        "verdict": "refuted",
    },
    {
        "title": "the work tree was branched from another commit",
        "setup": REPOSITORY + "git switch -qc feature; echo 2 > a; git commit -qam two; git branch task main",
        "check": {"ref": "task", "ancestor": ["HEAD", "task"]},
        "verdict": "refuted",
    },
)  # fmt: skip


def load_part(name: str) -> Part:
    """Import the Part of a field from its module."""
    owner = next(module for module, names in MODULES.items() if name in names)
    __import__(f"truecall_py.checks.support.{owner}")
    from sys import modules

    part: Part = modules[f"truecall_py.checks.support.{owner}"].PARTS[name]
    return part


def list_asserted(params: dict[str, Any]) -> list[str]:
    """Return the given fields that assert something, in the order of their declaration."""
    return [name for name in ASSERTS if params.get(name) is not None]


def expect(params: dict[str, Any]) -> str:
    return ", ".join(load_part(name).words(params) for name in list_asserted(params))


def make_look(params: dict[str, Any], call: ToolCall, world: World) -> Look:
    """Return the Look at the repository. Raises Unverified if its folder is unknown."""
    folder = world.resolve(params["folder"]) if params.get("folder") else world.resolve(".").removesuffix("/.")
    return Look(params, Repository(world, folder or "/"), world, call)


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    look = make_look(params, call, world)
    earlier = world.earlier(NAME, params)
    doubt: Unverified | None = None
    findings: list[Finding] = []
    for name in list_asserted(params):
        was = earlier.get(name, ABSENT) if isinstance(earlier, dict) else ABSENT
        try:
            findings.append(load_part(name).judged(look, was))
        except Unverified as why:
            doubt = doubt or why
    wrong = [finding for finding in findings if not finding.holds]
    failed = [finding.found for finding in wrong]
    if failed:
        if ("head" in params or "unmoved" in params) and not world.alone(NAME, params):
            raise Unverified(f"{'; '.join(failed)}, but another call ran at the same time", "probe")
        return refuted(expected, "; ".join(failed), blank=all(finding.blank for finding in wrong))
    if doubt is not None:
        raise doubt
    effects = [finding.effect for finding in findings]
    effect = NEW if NEW in effects else OLD if OLD in effects else ""
    return verified(expected, "; ".join(finding.found for finding in findings), effect)


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any]:
    """Return the state of the given fields before the call, by name. What is unreadable is left out."""
    look = make_look(params, call, world)
    seen = {}
    for name in list_asserted(params):
        try:
            seen[name] = load_part(name).seen(look)
        except Unverified:
            continue
    return seen


def needs_snapshot(params: dict[str, Any]) -> bool:
    if "unmoved" in params or "pushed" in params:
        return True
    if params.get("vacuous") != "ok" and any(name in params for name in ("no_ref", "not_tracked", "no_worktree")):
        return True
    from truecall_py.checks.support.git_history import needs_snapshot as history

    return history(params)
