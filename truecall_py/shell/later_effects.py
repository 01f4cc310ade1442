"""What the other commands of a line may have done to the object of one: a later `rm` makes a true claim
look false. It must never let a match stand for want of a path's spelling: what cannot be compared counts
as the same. A program that is not known here may change anything (a build brings back what was removed)."""

from __future__ import annotations

from truecall_py.shell.unwrap import DIRECTORY, base_name, unwrap, unwrap_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.shell.lexer import Simple

# Pairs of operands and words to compare in one line; beyond it everything counts as touched.
_BUDGET = 300_000

_READERS = DIRECTORY | frozenset((
    "", "echo", "cat", "ls", "test", "[", "printf", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg",
    "stat", "file", "pwd", "true", "false", ":", "diff", "cmp", "sha256sum", "md5sum", "sleep", "wait",
    "which", "type", "basename", "dirname", "realpath", "readlink", "du", "df", "cut", "tr", "id", "whoami",
    "uname", "hostname", "exit", "set", "export", "read", "kill", "jq", "yes", "seq", "date",
))  # fmt: skip
# These run a text, or what another program lists.
_RUNNERS = frozenset((
    "eval", "source", ".", "xargs", "parallel", "bash", "sh", "dash", "zsh", "ksh", "fish", "su", "ssh",
    "doas", "exec", "trap", "builtin", "watch",
))  # fmt: skip
_INTERPRETERS = ("python", "perl", "ruby", "node", "php")
_FIND_ACTIONS = frozenset((
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls",
))  # fmt: skip
_SWEEPERS = ("clean", "purge", "reset", "clear")  # `make clean`
_REMOVERS = frozenset(("rm", "rmdir", "mv", "unlink", "shred", "trash", "truncate", "dd"))
_WAYS = _REMOVERS | {"ln"}

# These change what their words name, and nothing else.
_NAMERS = _REMOVERS | frozenset((
    "mkdir", "touch", "cp", "ln", "chmod", "chown", "chgrp", "tee", "install", "sed", "sort", "uniq", "mktemp",
    "gzip", "gunzip", "git", "curl", "wget",
))  # fmt: skip

_GIT_READERS = frozenset((
    "status", "log", "diff", "show", "rev-parse", "ls-files", "ls-remote", "ls-tree", "describe", "blame",
    "grep", "shortlog", "cat-file", "rev-list", "merge-base", "for-each-ref", "show-ref", "version", "help",
    "count-objects", "check-ignore", "var",
))  # fmt: skip
_GIT_LISTS = frozenset((
    ("branch",), ("branch", "--show-current"), ("branch", "-a"), ("branch", "-v"), ("branch", "-vv"),
    ("branch", "-r"), ("remote",), ("remote", "-v"), ("tag",), ("tag", "-l"), ("stash", "list"),
))  # fmt: skip
# These leave the files of the work tree alone.
_GIT_GENTLE = frozenset(("add", "commit", "push", "fetch", "branch", "tag", "remote", "config", "notes"))
# What git did locally stays done when it only talks to another repository afterwards.
_GIT_TALK = frozenset(("push", "fetch"))
_GIT_FAR = frozenset(("push", "fetch", "pull", "clone", "remote"))


class _Effect:
    """One simple command, as far as it may change something."""

    __slots__ = ("detached", "git", "moves", "program", "reads", "runs", "targets", "unknown", "words")

    def __init__(self, simple: Simple) -> None:
        self.detached = simple.detached
        argv = unwrap(simple.argv or [""])
        first = argv[0] if argv else None
        self.program = None if first is None else base_name(first)
        self.git: str | None = None
        words: list[str | None] = argv[1:] if argv else [None]
        self.moves = self.program in DIRECTORY
        self.reads = self.program in _READERS
        if self.program == "git" and argv:
            words = (unwrap_git(argv, "")[0] or [None, None])[1:]
            self.git = words[0] if words else "help"
            output = any(word is not None and word.startswith(("-o", "--output", "-O")) for word in words)
            self.reads = (self.git in _GIT_READERS and not output) or tuple(words) in _GIT_LISTS
        self.words = [_fold_name(word) for word in words if word is not None]
        self.unknown = None in words
        self.runs = self.program in _RUNNERS
        if self.program == "find":
            self.reads = not self.unknown and not _FIND_ACTIONS.intersection(self.words)
            self.runs = not self.reads
        elif self.program and self.program.startswith(_INTERPRETERS):
            self.runs = not words or any(word in ("-c", "-e", "-") for word in words)
        self.targets: list[str | None] = []
        for operator, target in simple.redirections:
            copies = operator.endswith("&") and target is not None and target.strip("0123456789") in ("", "-")
            if ">" in operator and not copies:
                self.targets.append(target if target is None else _fold_name(target))


def only_reads(simple: Simple) -> bool:
    """True if a command only looks: it certainly changes nothing but what /dev/null holds."""
    effect = _Effect(simple)
    inside = any(word.startswith(("-i", "--in-place", "-o", "--output")) for word in effect.words)
    looks = effect.reads or (effect.program in ("sed", "awk", "sort") and not effect.unknown and not inside)
    return looks and all(target in ("/dev/null", "/dev/stderr", "/dev/stdout") for target in effect.targets)


class _Operand:
    """One captured operand, split for comparison with the words of other commands."""

    __slots__ = ("kind", "last", "parts", "tokens")

    def __init__(self, text: str) -> None:
        folded = _fold_name(text)
        self.kind, self.parts = split_path(folded)
        self.last = self.parts[-1] if self.parts else ""
        self.tokens = frozenset(_split_tokens(folded))

    def near(self, word: str, moved: bool) -> bool:
        """True if the word names this object, one above or below it, or may do so."""
        if word.startswith("-"):
            return bool(self.last and self.last in word) or self.near_path(word.partition("=")[2], moved)
        return bool(self.last and self.last in word) or word in self.tokens or self.near_path(word, moved)

    def cut(self, word: str) -> bool:
        """True if the way to this object may be a link to what the word names, or lead through one."""
        above = self.parts[:-1]
        if word.startswith("-") or not any(part != ".." for part in above):
            return False
        kind, parts = split_path(word)
        return kind != self.kind or len(parts) < len(self.parts) or parts[: len(above)] != above

    def near_path(self, word: str, moved: bool) -> bool:
        """Whether a word, read as a path, is this path, above it or below it; `moved`: a `cd` came between."""
        if not word or word.startswith("/dev/"):
            return False
        kind, parts = split_path(word)
        if kind != self.kind:
            return True
        if moved and not kind:
            return True
        if parts[:1] == [".."] or self.parts[:1] == [".."]:
            shared = min(_count_climbs(parts), _count_climbs(self.parts))
            parts, own = parts[shared:], self.parts[shared:]
            if parts[:1] == [".."] or own[:1] == [".."]:
                return True
        else:
            own = self.parts
        length = min(len(parts), len(own))
        return parts[:length] == own[:length]


class Aftermath:
    """The effects of all commands of one line, with a budget for comparing them."""

    def __init__(self, simples: list[Simple]) -> None:
        self.effects = [_Effect(simple) for simple in simples]
        self.budget = _BUDGET

    def spoils(
        self, index: int, argv: list[str | None], operands: list[str], since: int = -1, output: bool = False
    ) -> bool:
        """True if another command may have touched what this one (argv, its captured operands) did. From the
        place `since` on they run beside it, in one pipe; `output`: one operand is where its own output goes."""
        program = base_name(argv[0] or "") if argv else ""
        writes = output or program == "tee"  # all that can go wrong is that the file is removed
        sought = [_Operand(operand) for operand in operands]
        moved = False
        for position, effect in enumerate(self.effects):
            beside = 0 <= since <= position < index and not effect.detached
            if position < index and not (effect.detached or beside):
                continue
            others = len(effect.words) if position != index else 0
            self.budget -= 1 + len(operands) * (others + len(effect.targets))
            own = position == index
            if self.budget < 0 or (sought and not (own and output) and _writes_to(effect, sought, moved)):
                return True
            if own or (beside and writes):
                if writes and _removes(effect, sought, moved):
                    return True
                continue
            if _touches(effect, sought, moved) or _undoes(effect, program, argv, sought):
                return True
            moved = moved or effect.moves
        return False


def _writes_to(effect: _Effect, sought: list[_Operand], moved: bool) -> bool:
    """Whether a redirection writes to one of the operands, or may do so."""
    targets = effect.targets
    return any(target is None or any(operand.near(target, moved) for operand in sought) for target in targets)


def _touches(effect: _Effect, sought: list[_Operand], moved: bool) -> bool:
    """The objects by name."""
    if effect.program is None:
        return True
    if not sought or effect.reads or effect.git in _GIT_GENTLE:
        return False
    if effect.runs or effect.unknown or effect.program == "git" or effect.program not in _NAMERS:
        return True
    if moved and not all(operand.kind for operand in sought):
        return True
    if effect.program in _WAYS and any(operand.cut(word) for word in effect.words for operand in sought):
        return True
    return any(operand.near(word, moved) for word in effect.words for operand in sought)


def _removes(effect: _Effect, sought: list[_Operand], moved: bool) -> bool:
    """Whether a command may remove the file that its own output goes to, or that of one beside it."""
    program = effect.program
    if program is None or (effect.git and not effect.reads and effect.git not in _GIT_GENTLE):
        return True
    if effect.reads or effect.git:
        return False
    if program in _REMOVERS:
        return effect.unknown or any(operand.near(word, moved) for word in effect.words for operand in sought)
    if program in _NAMERS:
        return False
    # Of any other program only a word that is spelt alike is taken for the path.
    near = any(operand.last in word or (split_path(word)[0] == operand.kind and operand.near_path(word, moved))
               for word in effect.words for operand in sought)  # fmt: skip
    if near or any(name in word for name in _SWEEPERS for word in (program, *effect.words)):
        return True
    if program.startswith(_INTERPRETERS):
        return False
    # A build may empty the folder that it builds in, and a log in it goes with the rest.
    return effect.runs or any(not operand.kind and len(operand.parts) > 1 for operand in sought)


def _undoes(effect: _Effect, program: str, argv: list[str | None], sought: list[_Operand]) -> bool:
    """What has no name in the pattern, such as a repository."""
    if effect.reads or (sought and program != "git"):
        return False
    if effect.program == program == "git":
        own = argv[1] if len(argv) > 1 else None
        return effect.git not in _GIT_TALK or own is None or own in _GIT_FAR
    return effect.program == program or effect.runs or effect.program in _REMOVERS or effect.program not in _NAMERS


def _fold_name(word: str) -> str:
    """Names that some file system or package index takes for the same."""
    return word.lower().replace("_", "-")


def split_path(word: str) -> tuple[str, list[str]]:
    """What the path is relative to ("" for the folder of the command), and its parts."""
    kind = word[:1] if word[:1] in ("/", "~") else ""
    parts: list[str] = []
    for part in word.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and kind:
            continue
        elif part not in ("", ".", "~"):
            parts.append(part)
    return kind, parts


def _count_climbs(parts: list[str]) -> int:
    """Return the number of leading `..` parts."""
    count = 0
    while count < len(parts) and parts[count] == "..":
        count += 1
    return count


def _split_tokens(word: str) -> list[str]:
    """Split a word at the characters that separate names, versions and URLs."""
    for char in "=<>!@[]/,:; ":
        word = word.replace(char, "\n")
    return [token for token in word.split("\n") if token]
