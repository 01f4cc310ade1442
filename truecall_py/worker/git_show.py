"""Reads a file from the last commit with git's plumbing commands, in the worker. Runs no hook, filter, text
conversion or fsmonitor of the repository, and fetches nothing."""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 16 << 20  # bytes of a blob that is read
# A partial clone would fetch what is missing, by a program that its configuration names.
QUIET = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0",
         "GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
         "GIT_GRAFT_FILE": "/dev/null/none"}  # fmt: skip
SAFE = ("--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
# Attributes by which a checkout holds other bytes than the commit.
CONVERTING = ("filter", "ident", "working-tree-encoding", "eol", "text", "crlf")


class GitError(Exception):
    """git answered with an error."""


def run_git(folder: str, *argv: str) -> bytes:
    """Return the standard output of a git command. Raises GitError with the last line of its stderr."""
    done = subprocess.run(  # noqa: S603 - an argv list, and the program of git itself
        ["git", *SAFE, "-C", folder, *argv], env={**os.environ, **QUIET}, stdin=subprocess.DEVNULL,  # noqa: S607
        capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200])
    return done.stdout


def read_committed(job: dict[str, Any]) -> dict[str, Any]:
    """Return `text` (Latin-1, one character per byte) and `mode` of the file at the job's `path` in the last commit,
    and `converted`: why a checkout may differ. Or return `nothing`, or `trouble`."""
    folder, name = os.path.split(str(job["path"]))
    try:
        row = run_git(folder, "ls-tree", "-z", "HEAD", "--", name).split(b"\0")[0]
        if not row:
            return {"nothing": True}
        mode, kind, blob = row.split(b"\t")[0].decode().split()
        if kind != "blob" or mode == "120000":
            return {"trouble": f"{name} is no file in the last commit", "cause": "world"}
        size = int(run_git(folder, "cat-file", "-s", blob))
        if size > LARGEST:
            return {"trouble": f"{name} has {size} bytes in the last commit and is not read", "cause": "probe"}
        data = run_git(folder, "cat-file", "blob", blob)
        converted = find_conversion(folder, name, data)
    except (GitError, OSError, ValueError) as error:
        return {"trouble": f"git does not tell what the last commit holds: {error}", "cause": "world"}
    return {"text": data.decode("latin-1"), "mode": int(mode[-3:], 8), "converted": converted}


def find_conversion(folder: str, name: str, data: bytes) -> str:
    """Return why a checkout may differ from the blob, or ""."""
    rows = run_git(folder, "check-attr", "-z", *CONVERTING, "--", name).split(b"\0")
    attributes = {rows[at + 1].decode(): rows[at + 2].decode() for at in range(0, len(rows) - 2, 3)}
    for attribute in CONVERTING[:3]:
        if attributes.get(attribute, "unspecified") not in ("unspecified", "unset"):
            return f"{attribute}={attributes[attribute]}"
    if attributes.get("text") == "unset" or b"\n" not in data:
        return ""
    if attributes.get("eol") == "crlf":
        return "eol=crlf"
    for key, value in (("core.autocrlf", b"true"), ("core.eol", b"crlf")):
        try:
            if run_git(folder, "config", "--get", key).strip().lower() == value and attributes.get("eol") != "lf":
                return f"{key}={value.decode()}"
        except GitError:
            continue  # it is not set
    return ""
