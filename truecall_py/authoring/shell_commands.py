"""The pattern by which a contract finds a recorded shell command again, and what such a command is known to do. Never
takes a command for certain that the parser does not."""

from __future__ import annotations

from typing import Any

from truecall_py.core.record import record
from truecall_py.shell.commands import parse_simple_commands
from truecall_py.shell.runs import check_pattern, runs
from truecall_py.shell.unwrap import base_name, changes_meaning, unwrap, unwrap_git

QUIET = ("cd", "echo", "export", "set", "true", "pwd", "ls", "cat", "printf", "pushd", "popd", ":", "test", "[")
PROGRAMS_WITH_SUBCOMMANDS = (
    "git", "npm", "pnpm", "yarn", "pip", "pip3", "uv", "poetry", "cargo", "go", "docker", "kubectl", "helm",
    "terraform", "make", "gh", "apt", "apt-get", "brew", "bundle", "composer", "dotnet", "gradle", "mvn", "python",
    "python3", "node", "sh", "bash", "alembic", "django-admin",
)  # fmt: skip
NESTED_SUBCOMMANDS = ("run", "compose", "exec", "stash", "remote", "worktree")  # a part that has parts of its own
SAFE_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@+-")
# What is known of a command: its pattern, the check, and the words for it.
KNOWN: dict[str, tuple[str, dict[str, Any], str]] = {
    "mkdir": ("mkdir [-pv] [--parents] {dir...}", {"file_exists": {"path": "{{match.dir}}", "type": "dir"}},
              "each folder that the command names is there"),
    "touch": ("touch {file...}", {"file_exists": {"path": "{{match.file}}", "type": "any"}},
              "each file that the command names is there"),
    "rm": ("rm [-rRfv] [--recursive] [--force] {path...}",
           {"file_absent": {"path": "{{match.path}}", "vacuous": "ok"}},
           "nothing is left at each path that the command names; where the hook also looks before a call, "
           "remove `vacuous: ok`, so that something must have been there"),
    "rmdir": ("rmdir [-pv] {dir...}", {"file_absent": {"path": "{{match.dir}}", "vacuous": "ok"}},
              "nothing is left at each path that the command names"),
    "cp": ("cp [-rRapv] {source} {target}", {"file_exists": {"path": "{{match.target}}", "type": "any"}},
           "something stands at the target; say its type, size or content"),
    "mv": ("mv [-fnv] {source} {target}", {"file_exists": {"path": "{{match.target}}", "type": "any"}},
           "something stands at the target; say its type, size or content"),
    "git commit": ("git commit !--dry-run *", {"git": {"commit": "made"}},
                   "the call made a commit, and HEAD is at it"),
    "git push": ("git push [-fquv] [--force] [--force-with-lease] [--set-upstream]", {"git": {"pushed": True}},
                 "the remote itself has the current branch as it is here"),
    "git tag": ("git tag [-afs] [--annotate] [--force] [-m=] [--message=] {name}",
                {"git": {"ref": "refs/tags/{{match.name}}"}}, "there is such a tag"),
    "git checkout": ("git checkout -b {name}", {"git": {"branch": "{{match.name}}"}}, "this is the current branch"),
    "git switch": ("git switch -c {name}", {"git": {"branch": "{{match.name}}"}}, "this is the current branch"),
    "pip install": ("pip install [-qU] [--upgrade] [--quiet] {package...}",
                    {"package": {"manager": "pip", "name": "{{match.package}}"}}, "each package is installed"),
    "npm install": ("npm install [-DEPS] [--save-dev] [--save] [--no-audit] [--no-fund] {package...}",
                    {"package": {"manager": "npm", "name": "{{match.package}}"}}, "each package is installed"),
}  # fmt: skip


@record(frozen=True)
class Command:
    """The pattern of a command, its name for an id, its words, and the check that is known of it (None: none is)."""

    pattern: str
    name: str
    words: tuple[str, ...]
    check: dict[str, Any] | None = None
    why: str = ""


def find_patterns(line: str, exit_code: int | None) -> list[Command]:
    """The ways in which a command line can be found again, the most telling first; none where nothing in it is
    certain."""
    words = choose_command(line, exit_code)
    if words is None:
        return []
    commands = []
    own = name_command(words)
    called = " ".join([base_name(own[0]), *own[1:2]])
    name = called if called in KNOWN else base_name(own[0])
    if name in KNOWN:
        pattern, check, why = KNOWN[name]
        commands.append(Command(pattern, name, words, check, why))
    # A command of no more words is meant as it stands: `make *` would be about `make clean` as well.
    rest = "" if len(own) == len(words) else " *"
    commands.append(Command(f"{' '.join(own)}{rest}", "-".join(map(base_name, own)), words))
    return [command for command in commands if pattern_fits(command.pattern, line, exit_code)]


def pattern_fits(pattern: str, line: str, exit_code: int | None) -> bool:
    return check_pattern(pattern) is None and runs(pattern, line, exit_code) is not None


def choose_command(line: str, exit_code: int | None) -> tuple[str, ...] | None:
    """The words of the last command in a line that was certainly run and that does something."""
    simples = parse_simple_commands(line)
    if simples is None or any(map(changes_meaning, simples)):
        return None
    for simple in reversed(simples):
        argv = unwrap(simple.argv) if simple.certain != "no" else None
        if argv and argv[0] and base_name(argv[0]) == "git":
            argv = unwrap_git(argv, None)[0]
        if not argv or not argv[0] or base_name(argv[0]) in QUIET:
            continue
        return tuple("" if word is None else word for word in argv)
    return None


def name_command(words: tuple[str, ...]) -> list[str]:
    """The program and the part of it that was called."""
    found = [words[0]]
    if base_name(words[0]) not in PROGRAMS_WITH_SUBCOMMANDS:
        return found
    for word in words[1:3]:
        if not word or word.startswith("-") or set(word) - SAFE_LETTERS:
            break
        found.append(word)
        if word not in NESTED_SUBCOMMANDS:
            break
    return found


def capture_operand(command: Command, operand: str) -> str:
    """The pattern in which one operand is captured as {file}: those before it are wild."""
    found: list[str] = []
    fixed = len(name_command(command.words))
    for number, word in enumerate(command.words):
        if number >= fixed and word == operand:
            return " ".join([*found, "{file}", "*"])
        found.append(word if number < fixed or word.startswith("-") else "*")
    return ""
