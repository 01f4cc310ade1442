"""file_absent: a path existed and no longer does. That it does not exist now is no proof of a removal."""

from __future__ import annotations

import os

from truecall_py.checks import LOGIC
from truecall_py.checks.file_exists import name_file_type, strip_slashes
from truecall_py.checks.support.nearest_names import find_nearest
from truecall_py.checks.support.outcomes import refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.core.types import Outcome, ToolCall
    from truecall_py.world.world import World

NAME = "file_absent"
SUMMARY = "A path no longer exists, and existed before (a dangling link still exists)."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 2.4
FIELDS = (
    field("path", "path", "The path, relative to the folder where the call started.", required=True, templated=True),
    field("vacuous", "choice", "ok: it holds without proof that the file was there before.", choices=("ok",)),
)
ASSERTS = ()
SYNONYMS = ("absent",)
EXAMPLES = (
    {
        "title": "the folder is gone, and may have been gone before",
        "files": {},
        "check": {"path": "build", "vacuous": "ok"},
        "verdict": "verified",
    },
    {
        "title": "reported as removed, but still there",
        "files": {"data.csv": "1,2\n"},
        "check": {"path": "data.csv"},
        "verdict": "refuted",
    },
)


def expect(params: dict[str, Any]) -> str:
    return f"nothing at {params['path']} any more"


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    expected = expect(params)
    path = strip_slashes(world.resolve(params["path"]))
    found = world.stat(path, follow=False)
    if found is not None:
        return refuted(expected, f"{name_file_type(found.st_mode)} is still at {path}")
    if params.get("vacuous") == "ok":
        return verified(expected, f"nothing at {path}")
    earlier = world.earlier(NAME, params)
    if earlier is False:
        why = f"nothing is at {path}, and nothing was there before the call"
        return unverified(expected, why, "vacuous", find_nearest(path, world))
    proof = "it was there before the call" if earlier else find_proof(path, call, world)
    if proof:
        return verified(expected, f"nothing at {path}; {proof}")
    why = f"nothing is at {path}, but nothing proves that it was there before"
    return unverified(expected, why, "harness", find_nearest(path, world))


def asks_removal(params: dict[str, Any]) -> bool:
    """Whether the check asks for the removal of the call's own file. `params` still contain templates."""
    return bool(params.get("path") == "{{file.path}}")


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> bool:
    """Return whether anything exists at the path before the call."""
    return world.stat(strip_slashes(world.resolve(params["path"])), follow=False) is not None


def needs_snapshot(params: dict[str, Any]) -> bool:
    """Never: the last commit, or a patch, may also prove that the file existed."""
    return False


def find_proof(path: str, call: ToolCall, world: World) -> str:
    """Return the proof that the path existed before the call, "" without any."""
    plain = os.path.normpath(path)
    if any(file.action == "delete" and os.path.normpath(file.path) == plain for file in call.files):
        return "the patch that was applied deletes it"
    folder = os.path.dirname(plain)
    while world.stat(folder) is None and folder != "/":
        folder = os.path.dirname(folder)
    from truecall_py.world.git import Repository

    try:
        finished = Repository(world, folder).ask("ls-tree", "--name-only", "HEAD", "--", plain)
    except Unverified:
        return ""  # no answer from git proves nothing
    return "it is in the last commit" if finished.exit_code == 0 and finished.stdout.strip() else ""
