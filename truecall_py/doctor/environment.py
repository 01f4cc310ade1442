"""The environment in which a client starts its hooks. Reads only."""

from __future__ import annotations

from collections.abc import Mapping

from truecall_py import clients
from truecall_py.core.record import record


@record(frozen=True)
class Surroundings:
    """`env` is what a hook of the client `name` is started with, `withheld` what a project's files would add to it
    and we do not run."""

    name: str
    env: dict[str, str]
    withheld: tuple[str, ...] = ()

    def wrap(self, command: str) -> tuple[str, str]:
        """(the line that the client gives to the shell for a command, the setting that changed it, or "")."""
        own = clients.find_part(self.name, "environment")
        line, through = own.wrap_command(command, self.env) if own is not None else (command, "")
        return line, through


def find_environment(name: str, project: str, given: Mapping[str, str]) -> Surroundings:
    """What this client gives to a hook in a session in `project`, started with `given`."""
    own = clients.find_part(name, "environment")
    return Surroundings(name, *own.read_environment(project, given)) if own else Surroundings(name, dict(given))
