"""The program and the environment that a probe is started with. Never hands on a name by which the session
could change what runs (BASH_ENV, LD_PRELOAD, PYTHONPATH, GIT_DIR), and never finds a program in the folder
under test by its bare name."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT = ("HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ")
KEPT_PREFIXES = ("LC_", "XDG_")
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def build_environment(given: Mapping[str, str], folder: str) -> dict[str, str]:
    """The environment of a probe: a few names of ours, and what the contract itself gives."""
    variables = {
        name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_PREFIXES)
    }
    variables["PATH"] = ":".join(filter_path(os.environ.get("PATH") or USUAL_PATH, folder))
    variables.update(given)
    if "PATH" in given:  # the contract's own word: only what depends on the working folder is dropped
        variables["PATH"] = ":".join(entry for entry in given["PATH"].split(":") if entry.startswith("/"))
    return variables


def filter_path(path: str, folder: str) -> list[str]:
    """The absolute entries of a PATH that do not lie in the working folder, where the agent may have planted
    a program. A folder that holds the home folder is no project: the person's own programs stay."""
    absolute = [entry for entry in path.split(":") if entry.startswith("/")]
    root = os.path.realpath(folder)
    home = os.path.realpath(os.environ.get("HOME") or "/")
    if root == "/":
        return absolute
    kept = []
    for entry in absolute:
        real = os.path.realpath(entry)
        if not is_inside(real, root) or (is_inside(home, root) and is_inside(real, home)):
            kept.append(entry)
    return kept


def is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def locate_program(name: str, folder: str, path: str) -> tuple[str, str]:
    """The program that argv[0] means, or why there is none."""
    if "\0" in name:
        return "", "the command's name holds a NUL character"
    if "/" in name:
        program = os.path.join(folder, name)
        if not os.path.exists(program):
            return "", f"the program {program} is not there"
        if not os.path.isfile(program):
            return "", f"{program} is not a program but a folder or a device"
        return (program, "") if os.access(program, os.X_OK) else ("", f"{program} is not executable")
    for entry in path.split(":"):
        program = os.path.join(entry, name)
        if entry and is_executable(program):
            return program, ""
    for entry in os.environ.get("PATH", "").split(":"):
        program = os.path.join(folder, entry, name)
        if is_executable(program):
            return "", f"{name} is only found in the working folder, which is not searched; write {program}"
    return "", f"{name} is not found on PATH"


def is_executable(program: str) -> bool:
    return os.path.isfile(program) and os.access(program, os.X_OK)
