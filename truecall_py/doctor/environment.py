"""The environment in which a client starts its hooks: the one that it has itself, and what its settings add. Reads
only; what a project's file would have loaded or run is never taken over, since anybody may have put it there."""

from __future__ import annotations

import os

from truecall_py.clients.registration import quoted
from truecall_py.core.record import record
from truecall_py.doctor import disabled_hooks, registrations
from truecall_py.setup import plan
from truecall_py.setup.plan import PROJECT, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "CLAUDE_CODE_SHELL_PREFIX"
# Of a project's variables, those that may bear on a hook and start nothing; and those by which a program or a piece
# of code is put in the place of another. All others are left out: they change no answer.
HARMLESS = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE")
LOADING = ("LD_", "DYLD_", "BASH_", "GCONV_", "GLIBC_", "TRUECALL_", "OPENSSL_")
PUTTING = ("PATH", "LOCPATH", "SHELLOPTS", "ENV", "IFS", "PS4", PREFIX)


@record(frozen=True)
class Surroundings:
    """`env` is what a hook is started with, `withheld` what a project's files would add and we do not run,
    `prefix` the program that is given every command."""

    env: dict[str, str]
    withheld: tuple[str, ...] = ()
    prefix: str = ""


def of(name: str, project: str, given: Mapping[str, str]) -> Surroundings:
    """What this client gives to a hook in a session in `project`, started with `given`."""
    if name != "claude-code":
        return Surroundings(dict(given))
    about = plan.registered()[name].REGISTRATION
    env = {**given, **disabled_hooks.variables(plan.place(about, USER, project), about)}
    withheld = []
    files = disabled_hooks.claude_files(about, project)
    files += [plan.place(about, PROJECT, each) for each in registrations.above(name, project)]
    for path in files:
        for key, value in disabled_hooks.variables(path, about).items():
            if key in HARMLESS or (key == "PATH" and elsewhere(value, project)):
                env[key] = value
            elif key in PUTTING or key.startswith(LOADING):
                withheld.append(f"{key} in {path}")
    return Surroundings(env, tuple(withheld), env.get(PREFIX, ""))


def elsewhere(value: str, project: str) -> bool:
    """Whether no folder of a PATH lies in the project, or follows the working folder."""
    root = os.path.realpath(plan.repository(project) or project).rstrip("/")
    return all(each.startswith("/") and not f"{os.path.realpath(each)}/".startswith(f"{root}/")
               for each in value.split(":"))  # fmt: skip


def line(command: str, prefix: str) -> str:
    """The line that Claude Code gives to the shell: with a prefix, that program with the command as its last word.
    What follows the last blank and dash are words of its own."""
    if not prefix:
        return command
    at = prefix.rfind(" -")
    program, rest = (prefix[:at], f"{prefix[at + 1 :]} ") if at > 0 else (prefix, "")
    return f"{quoted(program)} {rest}{quoted(command)}"
