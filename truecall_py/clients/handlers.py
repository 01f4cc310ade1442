"""The command lines of ours that stand in the files of clients, and what is to be said of them. Reads nothing."""

from __future__ import annotations

import os
import shlex

from truecall_py.clients.payload import quote_word
from truecall_py.clients.registration import VARIABLE, Registration, is_by_hand, split_words
from truecall_py.clients.settings_files import PROJECT, place
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"
PLUGIN_SCOPE = "plugin"


@record(frozen=True)
class Finding:
    """One thing that was looked at. `group` is a client or "contracts", `do` the command that mends it."""

    level: str
    group: str
    what: str
    where: str = ""
    do: str = ""


@record(frozen=True)
class Handler:
    """One command of ours as a client has it. `run` is what the client starts, `command` the line of ours in it;
    `root` the folder of the plugin that it comes from. `entry` is the entry as plain data, `group` the one around it
    (the same where there are no groups), `position` their numbers below the event."""

    about: Registration
    scope: str
    path: str
    where: str
    event: str
    command: str
    run: str
    root: str = ""
    group: dict[str, Any] | None = None
    entry: dict[str, Any] | None = None
    position: tuple[int, int] = (0, 0)

    @property
    def harness(self) -> str:
        return self.about.name

    @property
    def timeout(self) -> Any:
        return (self.entry or {}).get(self.about.timeout[0])

    @property
    def matcher(self) -> Any:
        return (self.group or {}).get("matcher")

    @property
    def title(self) -> str:
        """The name that somebody gave to the entry, or ""."""
        return str((self.entry or {}).get("name") or "")

    @property
    def more(self) -> list[str]:
        """The keys of the entry that may keep the client from running our command, or from hearing its answer."""
        usual = {"type", "matcher", "statusMessage", self.about.command, self.about.timeout[0]}
        odd = [key for key in self.entry or {} if key not in usual]
        return odd + ["statusMessage"] * (not isinstance((self.entry or {}).get("statusMessage", ""), str))

    @property
    def words(self) -> list[str]:
        """[launcher, harness, event, ...]; empty where a shell would not read it so either."""
        try:
            argv = shlex.split(self.command)
        except ValueError:
            return []
        starts = [at for at, word in enumerate(argv) if word.endswith("/run.sh") and not word.startswith(VARIABLE)]
        return argv[starts[0] :] if starts else []

    @property
    def python(self) -> str:
        """The interpreter that the line names, or ""."""
        try:
            first = shlex.split(self.command)[:1]
        except ValueError:
            return ""
        return first[0].removeprefix(VARIABLE) if first and first[0].startswith(VARIABLE) else ""

    def option(self, name: str) -> str:
        """The value of an option of the line, or ""."""
        rest = self.words
        for at, word in enumerate(rest):
            if word == name:
                return rest[at + 1] if at + 1 < len(rest) else ""
            if word.startswith(f"{name}="):
                return word.partition("=")[2]
        return ""

    def render_install(self) -> str:
        """The command that writes this registration again."""
        if self.scope == PLUGIN_SCOPE:
            return self.about.plugin.install if self.about.plugin else ""
        return f"{self.render_cd()}truecall install {self.harness}{' --project' if self.scope == PROJECT else ''}"

    def render_cd(self) -> str:
        """How to get to the folder whose file this is, where that is another than the current one."""
        folder = self.path.removesuffix(f"/{self.about.project}")
        away = self.scope == PROJECT and folder not in (self.path, os.getcwd())
        return f"cd {quote_word(folder)} && " if away else ""

    def render_uninstall(self) -> str:
        """The command that takes this registration out."""
        if self.scope == PLUGIN_SCOPE:
            return self.about.plugin.remove if self.about.plugin else ""
        if self.path != place(self.about, self.scope, os.getcwd()) or not self.python:
            return f"take the entry out of {self.path} by hand"
        return f"truecall uninstall {self.harness}{' --project' if self.scope == PROJECT else ''}"


@record(frozen=True)
class Inventory:
    """What was found: commands of ours, and what is to be said of the files. `read` are the texts by path."""

    handlers: tuple[Handler, ...]
    findings: tuple[Finding, ...]
    read: dict[str, str]


def is_ours(command: Any, name: str, scope: str) -> bool:
    """Whether a command in a client's file starts our hook, whoever wrote it there."""
    if scope == PLUGIN_SCOPE:
        return isinstance(command, str) and "run.sh" in command
    return bool(split_words(command)) or is_by_hand(command, name)
