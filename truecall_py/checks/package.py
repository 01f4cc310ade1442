"""package: a package is installed in the right place. If nothing says which environment is meant, there is no
verdict: another environment is never taken for it."""

from __future__ import annotations

import os

from truecall_py.checks import EXECUTION
from truecall_py.checks.support.outcomes import compare_effect, refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, has_delta, matches
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.checks.support.site_packages import Environment, Installed
    from truecall_py.shell.lexer import Simple
    from truecall_py.world.world import World

NAME = "package"
SUMMARY = "A Python or Node package is installed in the intended environment, in the expected version."
STAGE = EXECUTION
FAILURE_CLASS = ""
COST = 2.6
FIELDS = (
    field("manager", "choice", "pip: a Python environment; npm: the node_modules of a project.",
          required=True, choices=("pip", "npm")),
    field("name", "text", "The package as in an install command: extras and versions may follow. The installed "
          "version must match.", required=True, templated=True),
    field("version", "matcher", "The installed version, as text.", templated=True),
    field("python", "path", "pip: a virtual environment's folder, or an interpreter; relative to the contract's "
          "folder. Default: the one that the command names (.venv/bin/pip); a plain pip is not certain."),
    field("folder", "path", "npm: the folder of the project; default: the one in which the call started.",
          templated=True),
    field("absent", "boolean", "true: the package is no longer installed."),
    field("vacuous", "choice", "ok: `absent` holds without proof that it was installed before.",
          choices=("ok",)),
)  # fmt: skip
ASSERTS = ()
VENV = {
    ".venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.12.1\n",
    ".venv/lib/python3.12/site-packages/six.py": "",
    ".venv/lib/python3.12/site-packages/six-1.16.0.dist-info/METADATA": "Name: six\nVersion: 1.16.0\n",
}
EXAMPLES = (
    {
        "title": "installed in the project's own environment",
        "files": VENV,
        "check": {"manager": "pip", "name": "six>=1.10", "python": ".venv"},
        "verdict": "verified",
    },
    {
        "title": "installed into another environment",
        "files": VENV,
        "check": {"manager": "pip", "name": "requests[socks]", "python": ".venv"},
        "verdict": "refuted",
    },
    {
        "title": "there, in another version",
        "files": {"package.json": "{}", "node_modules/left-pad/package.json": '{"version": "1.1.0"}'},
        "check": {"manager": "npm", "name": "left-pad@1.3.0"},
        "verdict": "refuted",
    },
    {
        "title": "removed",
        "before": {"files": {"package.json": "{}", "node_modules/left-pad/package.json": '{"version": "1.3.0"}'}},
        "setup": "rm -r node_modules/left-pad",
        "check": {"manager": "npm", "name": "left-pad", "absent": True},
        "verdict": "verified",
    },
)

# Options that install a package elsewhere than in the environment or folder itself, or nowhere. pip and npm
# accept an abbreviated long option, and a letter together with others or with its value.
ELSEWHERE = ("--target", "--prefix", "--root", "--user", "--dry-run", "--system", "--active", "--report")
SAME = ("--pre", "--r", "--root-user-action", "--python", "--requirement", "--retries", "--require-hashes")
ELSEWHERE_NPM = ("--global", "--location", "--prefix", "--dir", "--cwd", "--workspace", "--workspaces",
                 "--workspace-root", "--filter", "--filter-prod", "--recursive", "--userconfig", "--globalconfig",
                 "--modules-dir", "--modules-folder", "--dry-run", "--package-lock-only", "--lockfile-only",
                 "--mode")  # fmt: skip
VALUED = "rcefiC"  # letters of pip whose value may follow in the same word
NODE = ("npm", "pnpm", "yarn", "bun")
RUNNERS = ("npx", "pnpx", "bunx", "corepack")
OTHERS = frozenset(("global", "workspace", "workspaces"))  # subcommands for another folder
VARIABLES_NPM = ("npm_config_", "pnpm_", "yarn_", "bun_")
ACTIVATE = "/bin/activate"
SWITCHES = ("PIP_", "UV_", "VIRTUAL_ENV", "--active")  # variables and options by which pip and uv go elsewhere
# Commands after which another environment may be active.
UPSETTING = frozenset((
    "deactivate", "conda", "mamba", "micromamba", "pyenv", "workon", "nvm", "asdf", "mise", "hash", "export",
    "declare", "typeset", "unset", "eval", "alias", "exec", "enable", "builtin",
))  # fmt: skip
MOVES = ("cd", "pushd", "popd")


def expect(params: dict[str, Any]) -> str:
    where = params.get("python") or params.get("folder") or "the environment of the call"
    words = f"{params['manager']} package {params['name']}"
    if params.get("absent"):
        return f"{words} is not in {where} any more"
    version = f", in a version that {describe(params['version'])}" if params.get("version") else ""
    return f"{words} is installed in {where}{version}"


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    from truecall_py.checks.support.requirement import is_allowed_by_npm, is_allowed_by_pip

    expected = expect(params)
    name, wanted, conditional = parse_name(params)
    copies, where, open_ = find_installed(name, params, call, world)
    earlier = world.earlier(NAME, params)
    if not copies and open_:
        why = f"{name} is not in {where} itself, which also sees the packages of another Python"
        return unverified(expected, why, "probe")
    if params.get("absent"):
        return judge_absent(params, expected, name, copies, where, earlier)
    if not copies and conditional:
        return unverified(expected, f"{name} is not in {where}, and its condition may not hold there", "probe")
    if not copies:
        return refuted(expected, f"{name} is not in {where}", blank=not earlier)
    if copies[0].trouble:
        return refuted(expected, f"{name} in {where}: {copies[0].trouble}")
    version = find_version(copies)
    what = f"{copies[0].name} {version or 'of an unknown version'} in {where}"
    if (wanted or params.get("version")) and not version:
        return unverified(expected, what, "world")
    if wanted and not (is_allowed_by_pip if params["manager"] == "pip" else is_allowed_by_npm)(version, wanted):
        if conditional:
            return unverified(expected, f"{what}, and the condition may not hold there", "probe")
        return refuted(expected, what)
    was = None if earlier is ABSENT else (earlier[0][0] if earlier else ABSENT,)
    if params.get("version") and not matches(params["version"], version, world, before=was):
        return refuted(expected, what)
    return verified(expected, what, compare_effect(earlier, describe_installed(copies)))


def judge_absent(
    params: dict[str, Any], expected: str, name: str, found: list[Installed], where: str, earlier: Any
) -> Outcome:
    if found:
        return refuted(expected, f"{found[0].name} {found[0].version}".rstrip() + f" is still in {where}")
    why = f"{name} is not in {where}"
    if params.get("vacuous") == "ok":
        return verified(expected, why)
    if earlier is ABSENT:
        return unverified(expected, f"{why}, but nothing proves that it was there before", "harness")
    return verified(expected, why, compare_effect(earlier, []))


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> list[list[Any]]:
    """Return what is installed under the name before the call: version, path and mark of its metadata."""
    return describe_installed(find_installed(parse_name(params)[0], params, call, world)[0])


def needs_snapshot(params: dict[str, Any]) -> bool:
    """If the package must be absent: it may never have been installed."""
    return bool(params.get("absent") or has_delta(params.get("version")))


def describe_installed(found: list[Installed]) -> list[list[Any]]:
    return [[one.version, one.path, list(one.mark)] for one in found]


def parse_name(params: dict[str, Any]) -> tuple[str, str, bool]:
    """Return (name, required version or "", whether it applies only under a condition) of the contract's text."""
    from truecall_py.checks.support.requirement import parse_npm, parse_pip

    if not params["name"].strip():
        raise Unverified("the name of the package is empty", "tool")
    return (parse_pip if params["manager"] == "pip" else parse_npm)(params["name"])


def find_version(found: list[Installed]) -> str:
    """Return the installed version. Raises Unverified if there are two, because Python takes either."""
    usable = {one.version for one in found if not one.trouble}
    if len(usable) > 1:
        raise Unverified(f"{found[0].name} is there in the versions {', '.join(sorted(usable))} at once", "world")
    return usable.pop()


def find_installed(name: str, params: dict[str, Any], call: ToolCall, world: World) -> tuple[list[Installed], str,
                                                                                             bool]:
    """Return (what is installed under a name, where that is, whether more may be visible there). Raises
    Unverified."""
    if params["manager"] == "npm":
        from truecall_py.checks.support import node_modules

        if params.get("python") or (not params.get("folder") and may_install_elsewhere(call, world)):
            raise Unverified("which folder of packages is meant is not known; name it by folder:", "contract")
        one, place = node_modules.find_package(name, world.resolve(params.get("folder") or "."), world)
        return ([one] if one else []), os.path.join(place, "node_modules"), False
    from truecall_py.checks.support import site_packages

    if params.get("folder"):
        raise Unverified("a Python environment is named by python:, not by folder:", "contract")
    where = find_named_environment(params["python"], world) if params.get("python") else find_environment(call, world)
    return site_packages.find_distributions(name, where, world), where.name, where.open


def find_named_environment(python: str, world: World) -> Environment:
    """Return the environment that the contract names: a folder, an interpreter, or a name of PATH."""
    from truecall_py.checks.support.site_packages import ask_interpreter, find_environment

    path = python if python.startswith(("/", "~")) else os.path.join(world.project or world.resolve("."), python)
    path = world.resolve(path)
    if "/" in python or not python.startswith(("python", "pypy")) or os.path.isdir(path):
        return find_environment(path, True, world)
    return ask_interpreter(python, world)  # never one inside the project: a bare name is a program of PATH


def list_commands(call: ToolCall) -> list[tuple[Simple, list[str | None]]]:
    """Return the simple commands of the call, each with its words without env, sudo and the like (none if these are
    unknown). Raises Unverified for an unreadable command line."""
    from truecall_py.shell.commands import parse_simple_commands
    from truecall_py.shell.unwrap import unwrap

    line = call.args.get("command")
    simples = parse_simple_commands(line) if isinstance(line, str) else []
    if simples is None:
        raise Unverified("the command cannot be read, so where it installs is not known", "contract")
    return [(simple, unwrap(simple.argv) or []) for simple in simples]


def may_install_elsewhere(call: ToolCall, world: World) -> bool:
    """Whether a call may install into another folder than its words name: globally, for another workspace, after a
    `cd`, or by a variable."""
    moved = False
    line = str(call.args.get("command")).lower()
    for _, argv in list_commands(call):
        program = os.path.basename((argv or [""])[0] or "")
        moved = moved or program in MOVES
        if program not in NODE and program not in RUNNERS:
            continue
        if program in RUNNERS and not any(word in NODE for word in argv):
            continue
        if program in RUNNERS or None in argv or OTHERS.intersection(map(str, argv)):
            return True
        letters = "gwrF" if program in ("yarn", "bun") else "gwrFC"  # yarn's and bun's -C is --caret, or nothing
        if any(is_option(word, ELSEWHERE_NPM, (), letters) for word in argv[1:]):
            return True
        if any(name in line for name in VARIABLES_NPM) or (moved and world.base == call.start_cwd):
            return True
    return False


def is_option(
    word: str | None, options: tuple[str, ...], same: tuple[str, ...], letters: str, valued: str = ""
) -> bool:
    """Whether a word is one of these options, whole or abbreviated, or has one of these letters. A long option of
    `same` is itself. The rest after a letter of `valued` is its value."""
    if word is None or len(word) < 2 or word[0] != "-":
        return False
    if word.startswith("--"):
        name = word.partition("=")[0]
        return len(name) > 2 and name not in same and any(option.startswith(name) for option in options)
    for letter in word[1:]:
        if letter in letters:
            return True
        if letter in valued:
            break
    return False


def find_environment(call: ToolCall, world: World) -> Environment:
    """Return the environment that a command names. Raises Unverified if it names none, several, or one that may not
    have been active."""
    from truecall_py.checks.support.site_packages import find_environment

    places: list[str | None] = []
    moved = False
    active: tuple[str, Simple] | None = None
    for simple, argv in list_commands(call):
        first = argv[0] if argv else None
        moved = moved or first in MOVES
        if first in (".", "source"):
            script = argv[1] if len(argv) > 1 else None
            here = not (simple.inner or simple.piped or simple.detached)
            named = script is not None and script.endswith(ACTIVATE)
            active = (script.removesuffix(ACTIVATE), simple) if script and named and here else None
        elif is_install(argv):
            options = [word for word in argv[1:] if word != "-p"]
            if any(word is None or is_option(word, ELSEWHERE, SAME, "tp", VALUED) for word in options):
                raise Unverified("the command installs elsewhere, or may (--target and the like)", "contract")
            places.append(find_interpreter(argv) or find_active(active, simple, argv))
        elif os.path.basename(first or "") == "uv" and argv[1:2] == ["add"]:
            places.append(find_project_environment(world))
        elif first is None or first in UPSETTING or simple.assignments:
            active = None
    if any(name in str(call.args.get("command")) for name in SWITCHES):
        raise Unverified("the command sets variables that may choose another environment", "contract")
    if len(set(places)) != 1 or places[0] is None:
        why = "which Python environment is meant is not known: the command names none by its path"
        raise Unverified(f"{why}; name it by python:", "contract")
    if moved and not places[0].startswith("/") and world.base == call.start_cwd:
        raise Unverified("the command changes its folder before it names the Python by a relative path", "harness")
    return find_environment(world.resolve(places[0]), False, world)


def find_active(active: tuple[str, Simple] | None, simple: Simple, argv: list[str | None]) -> str | None:
    """Return the environment that was certainly activated in the same shell before a command; None for a command of
    another user or with its own PATH."""
    if active is None or simple.inner or simple.argv[:1] != argv[:1] or simple.assignments:
        return None
    place, before = active
    together = before.chain >= 0 and before.chain == simple.chain
    return place if together or before.certain in ("always", "if_ended") else None


def find_project_environment(world: World) -> str:
    """Return the environment of the uv project around the folder of the call: beside the lock file that `uv add`
    writes. Raises Unverified if there is none, or another may be meant."""
    if os.environ.get("UV_PROJECT_ENVIRONMENT"):
        raise Unverified("UV_PROJECT_ENVIRONMENT names the environment", "contract")
    here = world.resolve(".")
    while world.stat(os.path.join(here, "uv.lock")) is None:
        above = os.path.dirname(here.rstrip("/"))
        if above == here:
            raise Unverified("there is no uv.lock in the folder of the call or above it", "contract")
        here = above
    return os.path.normpath(os.path.join(here, ".venv"))


def is_install(argv: list[str | None]) -> bool:
    """Whether a command is pip, under any of its names, that installs or uninstalls. Its other commands name no
    environment."""
    program = os.path.basename((argv or [""])[0] or "")
    if program.startswith("python"):
        pip = "-m" in argv and "pip" in argv[argv.index("-m") + 1 : argv.index("-m") + 2]
    else:
        pip = program.rstrip("0123456789.") == "pip" or (program == "uv" and argv[1:2] == ["pip"])
    return pip and ("install" in argv or "uninstall" in argv)


def find_interpreter(argv: list[str | None]) -> str | None:
    """Return the path of the environment or interpreter that a pip command names, None without any."""
    program = argv[0] or ""
    for at, word in enumerate(argv):
        if word in ("--python", "-p") and at + 1 < len(argv):
            return argv[at + 1]
        if word is not None and word.startswith("--python="):
            return word.partition("=")[2]
    if "/" not in program or os.path.basename(program) == "uv":  # the uv of an environment installs into others, too
        return None
    if os.path.basename(program).startswith("python"):
        return program
    return os.path.dirname(os.path.dirname(program)) or None  # .venv of .venv/bin/pip
