"""inside: the real target of a path is in an allowed folder. It follows every link before it judges, runs no git, and
reads only the .git files of a repository."""

from __future__ import annotations

import os
import stat as modes

from truecall_py.checks import LOGIC
from truecall_py.checks.file_exists import build_mark, name_file_type
from truecall_py.checks.support.git_worktree import find_other_worktree, find_own_top, find_strayed_checkout
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import compare_effect, refuted, verified
from truecall_py.contracts.field import field
from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Outcome, ToolCall
    from truecall_py.world.world import World

NAME = "inside"
SUMMARY = "A path, links followed, is in the session's own git checkout, or in a named folder."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 2.3
FIELDS = (
    field("path", "path", "The path, relative to the folder where the call started.", required=True, templated=True),
    field("folder", "path", "The folder that must contain it; default: the top level of the session's git checkout, "
          "without other worktrees in it.", templated=True),
    field("symlink", "choice", "kept: if the path was a symbolic link before the call, it still is one.",
          choices=("kept",)),
    field("missing", "choice", "allowed: a missing path, or a link without a target, is judged by where it would be. "
          "This is the default in `pre`.", choices=("allowed",)),
)  # fmt: skip
ASSERTS = ()
GUARD_DEFAULTS = {"missing": "allowed"}
EXAMPLES = (
    {
        "title": "the file is in the checkout",
        "setup": "git init -q . && mkdir src && echo x > src/a.txt",
        "check": {"path": "src/a.txt"},
        "verdict": "verified",
    },
    {
        "title": "a link leads out of the folder",
        "files": {"elsewhere/a.txt": "x\n", "app/b.txt": "y\n"},
        "setup": "ln -s ../elsewhere app/data",
        "check": {"path": "app/data/a.txt", "folder": "{{project}}/app"},
        "verdict": "refuted",
    },
    {
        "title": "the editor replaced the link by a file",
        "before": {"files": {"real.conf": "a\n"}, "setup": "ln -s real.conf app.conf"},
        "setup": "rm app.conf && echo b > app.conf",
        "check": {"path": "app.conf", "folder": "{{project}}", "symlink": "kept"},
        "verdict": "refuted",
    },
)


def expect(params: dict[str, Any]) -> str:
    where = params.get("folder") or "the git checkout in which the session works"
    still = ", and still a link if it was one" if params.get("symlink") else ""
    return f"{params['path']} in {where}{still}"


def needs_snapshot(params: dict[str, Any]) -> bool:
    return bool(params.get("symlink"))


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> dict[str, Any] | None:
    """Return the mark of the path before the call, and its target if it is a link; None if nothing exists there."""
    path = world.resolve(params["path"]).rstrip("/") or "/"
    itself = world.stat(path, follow=False)
    if itself is None:
        return None
    link = os.readlink(path) if modes.S_ISLNK(itself.st_mode) else None
    return {"mark": build_mark(world.stat(path) or itself), "link": link}


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    path = world.resolve(params["path"]).rstrip("/") or "/"
    itself, found = world.stat(path, follow=False), world.stat(path)
    to_come = params.get("missing") == "allowed"
    if itself is None and not to_come:
        return refuted(expected, f"nothing at {path}", find_nearest(path, world), True)
    if found is None and not to_come:
        return refuted(expected, f"a link that points to nothing at {path}", blank=True)
    earlier = world.earlier(NAME, params)
    if params.get("symlink"):
        was = world.before(NAME, params)
        if was and was["link"] is not None and itself and not modes.S_ISLNK(itself.st_mode):
            what = f"{name_file_type(itself.st_mode)} at {path}, where a link to {was['link']} was before the call"
            if not world.alone(NAME, params):
                raise Unverified(f"{what}, but another call about it ran at the same time", "probe")
            return refuted(expected, what)
    real = os.path.realpath(path)
    shown = path if real == path else f"{path}, which is {real},"
    folder, default = find_root(params, call, world)
    if not is_within(real, folder, world):
        main = find_strayed_checkout(path, find_session_folder(call, world), world) if default else ""
        which = f"in the main checkout {main}" if main else f"outside of {folder}"
        return refuted(expected, f"{shown} lies {which}")
    other = find_other_worktree(real, folder, world) if default else ""
    if other:
        return refuted(expected, f"{shown} lies in another worktree, {other}")
    if found is None:
        return verified(expected, f"{shown} would lie in {folder}")
    effect = compare_effect(earlier["mark"] if earlier else earlier, build_mark(found))
    return verified(expected, f"{shown} lies in {folder}", effect)


def find_session_folder(call: ToolCall, world: World) -> str | None:
    return world.session or call.cwd


def find_root(params: dict[str, Any], call: ToolCall, world: World) -> tuple[str, bool]:
    """Return (the real folder that must contain the path, whether it is the session's checkout). Raises
    Unverified."""
    if params.get("folder"):
        folder = world.resolve(params["folder"])
        found = world.stat(folder)
        if found is None or not modes.S_ISDIR(found.st_mode):
            raise Unverified(f"there is no folder {folder} in which anything could lie", "contract")
        return os.path.realpath(folder), False
    here = find_session_folder(call, world)
    if here is None:
        raise Unverified("the folder in which the session works is not known", "harness")
    top = find_own_top(here, world)
    if top is None:
        raise Unverified(f"{here} is in no git checkout, and `folder` names no other", "contract")
    return top[0], True


def is_within(real: str, folder: str, world: World) -> bool:
    """Whether a real path is the folder or is in it, as the file system sees it, however it is spelt."""
    wanted = world.stat(folder)
    while True:
        here = world.stat(real)
        if here is not None and wanted is not None and os.path.samestat(here, wanted):
            return True
        if real == os.path.dirname(real):
            return False
        real = os.path.dirname(real)
