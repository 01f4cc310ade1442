"""The `truecall` command. `truecall hook` goes straight to the hook; everything else to the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs one command and ends the process with its exit code."""
    argv = sys.argv[1:]
    if argv[:1] == ["hook"] and not {"--help", "-h"} & set(argv):
        from truecall_py.hook.main import main as hook

        sys.exit(hook(argv[1:]))
    from truecall_py.cli.main import run

    sys.exit(run(argv))


if __name__ == "__main__":
    main()
