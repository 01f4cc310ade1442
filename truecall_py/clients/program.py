"""What is known of a client as a program, beside its hooks."""

from __future__ import annotations

from truecall_py.core.record import record


@record(frozen=True)
class Program:
    """One client's program. `executable` is its name on the PATH, `marks` the files and folders in a project that
    show that somebody uses it there, `agent_variables` what it sets for the commands that an agent runs (a person's
    shell has none of them). MCP servers are named in `home_servers` (files below the home folder), `project_servers`
    (below a project or a folder above it) and `beside_servers` (beside the file of its registration)."""

    executable: str
    marks: tuple[str, ...]
    agent_variables: tuple[str, ...]
    scratch: tuple[str, ...] = ()  # folders of a project into which it writes itself
    home_servers: tuple[str, ...] = ()
    project_servers: tuple[str, ...] = ()
    beside_servers: tuple[str, ...] = ()
    own_servers: tuple[str, ...] = ()  # how the names of servers begin that it brings along, and no file names
