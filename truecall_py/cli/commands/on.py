"""`truecall on`, found by its name; its code is in `off`."""

from truecall_py.cli.commands.off import on

__all__ = ["on"]
