"""Templates, paths and patterns of the ancestor's JSON contracts in the words of ours. What has no safe counterpart
raises Refused with the reason; nothing is guessed."""

from __future__ import annotations

import re
import shlex
import warnings
from typing import Any

from truecall_py.contract_files.lint import redos

ROOTS = {
    **dict.fromkeys(("args", "input", "params", "arguments", "tool_input", "toolInput"), "args"),
    **dict.fromkeys(("result", "output", "response", "tool_response", "toolResponse"), "result"),
    "tool": "tool", "tool_name": "tool", "cwd": "cwd", "project": "project", "file": "file",
}  # fmt: skip
ALONE = ("tool", "cwd", "project")  # one value, without parts
TEMPLATE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}|\$\{\s*([^{}]*?)\s*\}")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\Z")
# Characters by which a command line is more than words: those need a shell.
SHELL = frozenset(";&|<>()$`*?[]~#\n!\\")
BUILTINS = ("cd", "exit", "source", ".", ":", "type", "command", "export", "set", "eval", "exec", "ulimit", "read")
LITERAL = re.compile(r"/(.+)/([a-z]*)\Z", re.DOTALL)
FLAGS = {"i": "i", "m": "m", "s": "s"}


class Refused(Exception):
    """There is no safe counterpart; the text says why."""


def convert_template(text: str) -> str:
    """A text with the ancestor's templates as ours. Raises Refused for one that names nothing a call has."""
    return TEMPLATE.sub(lambda found: "{{" + name(found[1] if found[1] is not None else found[2]) + "}}", text)


def name(written: str) -> str:
    dotted = re.sub(r"\[(\d+)\]", r".\1", written)
    root, _, rest = dotted.partition(".")
    if not NAME.match(dotted) or root not in ROOTS or (rest and ROOTS[root] in ALONE):
        raise Refused(f"the template of {written!r} names nothing that a call has (args.NAME, result.NAME, cwd)")
    return f"{ROOTS[root]}.{rest}" if rest else ROOTS[root]


def has_template(text: str) -> bool:
    return TEMPLATE.search(text) is not None


def place(path: str) -> tuple[str, str]:
    """(path, what to say of it): a relative one is pinned to the contract's folder."""
    path = convert_template(path)
    if not path or path.startswith(("/", "~", "{{")):
        return path, ""
    return "{{project}}/" + path.removeprefix("./"), "a relative path now starts at the folder of the contract file"


def convert_command(line: str) -> tuple[list[str], str]:
    """(argv, what to say of it) of a shell string. Raises Refused where a value would become part of a script."""
    words = split_simple_command(convert_template(line))
    if words is not None:
        return words, ""
    if has_template(line):
        raise Refused(
            "a value of the call would become part of a shell script; pass it as an argument: "
            'command: {run: [sh, -c, "... \\"$1\\" ...", sh, "{{args.NAME}}"]}'
        )
    return ["sh", "-c", line], "a shell script, of which the last exit code alone counts; a list of words is better"


def split_simple_command(line: str) -> list[str] | None:
    """The words of a command line that needs no shell, None for any other."""
    bare = TEMPLATE.sub("", line)
    if SHELL.intersection(bare):
        return None
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if not words or "=" in words[0] or words[0] in BUILTINS or has_template(words[0]):
        return None
    # A quote that stood inside a template, or a template that a blank cut in two.
    if len(TEMPLATE.findall(line)) != sum(len(TEMPLATE.findall(word)) for word in words):
        return None
    return words


def convert_pattern(written: Any, what: str) -> tuple[str, str]:
    """(regular expression of Python, what to say of it). Raises Refused."""
    if not isinstance(written, str) or not written:
        raise Refused(f"{what} is no regular expression")
    if has_template(written):
        raise Refused(f"{what} holds a template: a value of the call never becomes part of a pattern; use contains")
    found, flags = written, ""
    literal = LITERAL.match(written)
    if literal and set(literal[2]) <= {*FLAGS, "g", "u", "y"}:
        found, flags = literal[1], "".join(FLAGS.get(flag, "") for flag in literal[2])
    found = found.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!").replace("[^]", r"[\s\S]")
    found = re.sub(r"\\k<(\w+)>", r"(?P=\1)", found).replace(r"\/", "/")
    found = f"(?{flags}){found}" if flags else found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = re.compile(found)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        raise Refused(f"{what} is not a regular expression of Python: {error}") from None
    if redos.is_slow(found):
        raise Refused(f"{what} may take exponential time on some texts: make its repetitions unambiguous")
    if compiled.search("") and compiled.search("\x01\n\x01"):
        raise Refused(f"{what} is found in every text, and so asserts nothing")
    unanchored = found.endswith("$") and not found.endswith("\\$") and "m" not in flags
    return found, f"in {what}, $ also stands before a last line break here" if unanchored else ""
