"""What a simple command really calls, and where: without env, sudo and the like, git's global options,
and the moves of `cd`. It must never name a program or a folder that is not certain."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.shell.lexer import Simple

DIRECTORY = frozenset(("cd", "pushd", "popd", "chdir"))
_INDIRECT = frozenset(("eval", "source", ".", "builtin", None))

# Flags alone, flags with a value, whether VAR=x may follow, how many operands come before the command.
WRAPPERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool, int]] = {
    "env": (("-i", "-", "--ignore-environment", "--"), ("-u", "--unset"), True, 0),
    "sudo": (
        ("-n", "-E", "-H", "-S", "-nE", "-En", "--non-interactive", "--preserve-env", "--"),
        ("-u", "--user", "-g", "--group"),
        True,
        0,
    ),
    "time": (("-p", "-v"), (), False, 0),
    "nohup": (("--",), (), False, 0),
    "command": (("-p", "--"), (), False, 0),
    "nice": (("--",), ("-n", "--adjustment"), False, 0),
    "timeout": (("--foreground", "--preserve-status"), ("-k", "-s", "--signal", "--kill-after"), False, 1),
}
_GIT_FLAGS = frozenset((
    "-p", "-P", "--paginate", "--no-pager", "--bare", "--no-replace-objects", "--no-optional-locks",
    "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-advice",
))  # fmt: skip
# `-c` with these makes git work elsewhere or do another thing.
_GIT_KEYS = ("core.worktree", "core.bare", "remote.", "url.", "branch.", "alias.", "include", "push.")
# Variables that make words mean something else.
_MOVING = (
    "GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_COMMON_DIR=", "GIT_OBJECTDIRECTORY=",
    "GIT_NAMESPACE=", "GIT_CONFIG", "HOME=", "CDPATH=", "IFS=",
)  # fmt: skip


def base_name(word: str) -> str:
    return word.rpartition("/")[2]


def unwrap(argv: list[str | None]) -> list[str | None] | None:
    """The command without env, sudo and the like; None where it is not certain which one it is."""
    at = 0
    while at < len(argv):
        word = argv[at]
        if word is None:
            return None
        wrapper = WRAPPERS.get(base_name(word))
        if wrapper is None:
            return argv[at:]
        flags, valued, assigns, operands = wrapper
        at += 1
        while at < len(argv):
            word = argv[at]
            if word is None:
                return None
            if word in flags:
                at += 1
            elif word in valued:
                at += 2
            elif word.startswith("-"):
                if not any(word.startswith(option if len(option) == 2 else option + "=") for option in valued):
                    return None
                at += 1
            elif assigns and "=" in word:
                if word.startswith(_MOVING):
                    return None
                at += 1
            else:
                break
        at += operands
    return None


def unwrap_exec(argv: list[str | None]) -> list[str | None]:
    """The command that `exec` puts in the place of the shell; any other as it is."""
    if argv[0] != "exec":
        return argv
    at = 1
    while argv[at : at + 1] in (["-c"], ["-l"], ["-cl"], ["--"]):
        at += 1
    return argv[at:]


def changes_meaning(simple: Simple) -> bool:
    """Whether a command sets a variable that changes what other words mean (HOME, GIT_DIR, IFS)."""
    if any((name + "=").startswith(_MOVING) for name, _ in simple.assignments):
        return True
    if not simple.argv or simple.argv[0] != "export":
        return False
    return any(word is None or word.startswith(_MOVING) for word in simple.argv[1:])


def unwrap_git(argv: list[str | None], directory: str | None) -> tuple[list[str | None] | None, str | None]:
    """git without its global options, and where it works; None for options that send it elsewhere."""
    at = 1
    while at < len(argv):
        word = argv[at]
        value = argv[at + 1] if at + 1 < len(argv) else None
        if word in _GIT_FLAGS:
            at += 1
        elif word == "-C" and at + 1 < len(argv) and value != "":
            directory = join_path(directory, value) if value else None
            at += 2
        elif word == "-c" and value and not value.lower().startswith(_GIT_KEYS):
            at += 2
        elif word is None or word.startswith("-"):
            return None, None
        else:
            break
    if "-h" in argv[at + 1 : at + 2]:
        return None, None
    return argv[:1] + argv[at:], directory


def join_path(base: str | None, path: str) -> str | None:
    """Join a path to a folder; None where the folder is unknown."""
    if path.startswith(("/", "~/")) or path == "~" or base == "":
        return path
    return None if base is None else base.rstrip("/") + "/" + path


def turns_back(path: str | None) -> bool:
    """Whether a path goes up after it went down: the shell takes `link/..` for where it came from, and the rest of
    the machine for the folder above what the link points to."""
    down = False
    for part in (path or "").split("/"):
        if part == ".." and down:
            return True
        down = down or part not in ("", ".", "..", "~")
    return False


class Place:
    """Where the shell is: known only within one `&&` list, where a `cd` that failed ends the list."""

    def __init__(self) -> None:
        self.chain = -1
        self.path: str | None = ""
        self.moved = False  # in an earlier list: from then on a relative folder is not known

    def of(self, simple: Simple) -> str | None:
        """Return the folder in which a command runs: "" where the shell started, None if unknown."""
        if self.chain >= 0 and simple.chain == self.chain:
            return self.path
        return None if self.moved or self.chain >= 0 else ""

    def follow(self, simple: Simple) -> None:
        """Update the folder after a command."""
        name = simple.argv[0] if simple.argv else ""
        if name == "command" and (None in simple.argv or DIRECTORY.intersection(simple.argv)):
            name = None
        if simple.inner or not (name in DIRECTORY or name in _INDIRECT):
            return
        words = [word for word in simple.argv[1:] if word not in ("--", "-P", "-L")]
        target = words[0] if len(words) == 1 else "~" if name == "cd" and not words else None
        before = self.of(simple)
        known = simple.chain >= 0 and simple.certain != "no" and not simple.piped and name in ("cd", "pushd")
        if known and target and target[0] not in "-+":
            self.path = join_path(before, target)
            if turns_back(self.path):
                self.path = None
            self.chain = simple.chain
        else:
            self.moved, self.chain = True, -1
