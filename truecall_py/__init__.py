"""truecall: checks whether a coding agent's tool call really did what it reported.

`judge(payload, contracts)` is the whole of it for other Python programs; the hook and the command line are thin
layers over the same engine. Importing this package must stay free of any cost.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.api import judge as judge
    from truecall_py.core.version import __version__ as __version__

__all__ = ["__version__", "judge"]


def __getattr__(name: str) -> object:
    if name == "judge":
        from truecall_py.api import judge

        return judge
    if name == "__version__":
        from truecall_py.core.version import __version__

        return __version__
    raise AttributeError(f"module 'truecall_py' has no attribute {name!r}")
