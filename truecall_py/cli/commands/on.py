"""`truecall on`, found by its name: it stands beside `off`, and does nothing of its own."""

from truecall_py.cli.commands.off import on

__all__ = ["on"]
