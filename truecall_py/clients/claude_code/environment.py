"""The environment in which Claude Code starts its hooks: the one that it has itself, and what its settings add. Reads
only; what a project's file would have loaded or run is never taken over, since anybody may have put it there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from truecall_py.clients.claude_code.doctor import list_folders_above
from truecall_py.clients.claude_code.registration import REGISTRATION
from truecall_py.clients.claude_code.switches import list_settings_files, read_variables
from truecall_py.clients.payload import quote_word
from truecall_py.clients.settings_files import PROJECT, USER, find_repository, place

PREFIX = "CLAUDE_CODE_SHELL_PREFIX"
# Of a project's variables, those that may bear on a hook and start nothing; and those by which a program or a piece
# of code is put in the place of another. All others are left out: they change no answer.
HARMLESS = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE")
LOADING = ("LD_", "DYLD_", "BASH_", "GCONV_", "GLIBC_", "TRUECALL_", "OPENSSL_")
PUTTING = ("PATH", "LOCPATH", "SHELLOPTS", "ENV", "IFS", "PS4", PREFIX)


def read_environment(project: str, given: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """(what a hook is started with in a session in `project` that is started with `given`, what a project's files
    would add to it and truecall does not run)."""
    env = {**given, **read_variables(place(REGISTRATION, USER, project))}
    withheld = []
    files = list_settings_files(project)
    files += [place(REGISTRATION, PROJECT, folder) for folder in list_folders_above(project)]
    for path in files:
        for key, value in read_variables(path).items():
            if key in HARMLESS or (key == "PATH" and lies_elsewhere(value, project)):
                env[key] = value
            elif key in PUTTING or key.startswith(LOADING):
                withheld.append(f"{key} in {path}")
    return env, tuple(withheld)


def lies_elsewhere(value: str, project: str) -> bool:
    """Whether no folder of a PATH lies in the project, or follows the working folder."""
    root = os.path.realpath(find_repository(project) or project).rstrip("/")
    return all(folder.startswith("/") and not f"{os.path.realpath(folder)}/".startswith(f"{root}/")
               for folder in value.split(":"))  # fmt: skip


def wrap_command(command: str, env: Mapping[str, str]) -> tuple[str, str]:
    """(the line that Claude Code gives to the shell, the setting that changed it): with a prefix, that program with
    the command as its last word. What follows the last blank and dash are words of its own."""
    prefix = env.get(PREFIX, "")
    if not prefix:
        return command, ""
    at = prefix.rfind(" -")
    program, rest = (prefix[:at], f"{prefix[at + 1 :]} ") if at > 0 else (prefix, "")
    return f"{quote_word(program)} {rest}{quote_word(command)}", f"{PREFIX}={prefix}"
