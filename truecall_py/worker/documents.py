"""Reads YAML, TOML and Python as data, in the worker: bounded in size, without tags, each use of an alias counted.
It builds no objects and runs nothing that it reads.

A value on which readers of the format differ (`yes`, `012`, `1:30`) becomes `{DOUBT: "why"}`. A check that needs
the value is then unverified; other checks are not affected.
"""

from __future__ import annotations

import re
import sys

from truecall_py.core.errors import Unverified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DOUBT = "\0doubt"
MOST = 200_000  # values of one document, aliases spelt out
DEEPEST = 150
LARGEST = 8_000_000  # characters
# Plain scalars, by YAML 1.2's core schema; what 1.1 reads otherwise is doubtful.
NULL = re.compile(r"(?:|~|null|Null|NULL)\Z")
BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+][0-9]+)?\Z")
DOUBTFUL = re.compile(
    r"""(?:y|n|yes|no|on|off)\Z |                                 # true and false to YAML 1.1
        [-+]?0[0-7_]+\Z | [-+]?0[xob][0-9a-f_]+\Z |               # other bases
        [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z |      # base 60
        [-+]?[0-9][0-9_]*_[0-9_]*\.?[0-9_]*\Z |
        [-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?\Z |    # 1e3, .5, 08
        [-+]?\.(?:inf|nan)\Z""",
    re.VERBOSE | re.IGNORECASE,
)
# What a newer Python than this one may read: its message, or a sign in the line, and the version that can.
NEWER = (
    ((3, 11), re.compile(r"except\s*\*")),
    ((3, 12), re.compile(r"f-string|^\s*type\s+\w+|^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\[|\b[rR]?[fF][rR]?[\"']")),
    ((3, 14), re.compile(r"\b[rR]?[tT][rR]?[\"']|multiple exception types|^\s*except\b[^(:]*,")),
)


def read_text(job: dict[str, Any]) -> str:
    """Return the text of a job without a byte order mark. Raises Unverified for a very large one."""
    text = str(job["text"])
    if len(text) > LARGEST:
        raise Unverified(f"the file has more than {LARGEST // 1_000_000} million characters and is not read", "probe")
    return text.removeprefix("\ufeff")


def import_yaml() -> Any:
    """Return PyYAML and its fastest safe loader. Raises Unverified if it is not installed."""
    try:
        import yaml
    except ImportError as error:
        raise Unverified(f"PyYAML cannot be imported by {sys.executable}: {error}", "interpreter") from None
    return yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def import_toml() -> Any:
    """Return the first TOML module that is installed. Raises Unverified if there is none."""
    for name in ("tomllib", "tomli", "tomlkit"):
        try:
            return __import__(name)
        except ImportError:
            continue
    raise Unverified(f"none of tomllib, tomli and tomlkit can be imported by {sys.executable}", "interpreter")


# -- does it parse ------------------------------------------------------------------------------------


def find_syntax_error(job: dict[str, Any]) -> dict[str, Any]:
    """Return `error` (the parser's message, "" if the text parses), `line` and `column` (from 1; 0: unknown)."""
    if job["as"] == "python":
        return find_python_error(str(job["source"]).encode("latin-1"))
    return {"yaml": find_yaml_error, "toml": find_toml_error}[str(job["as"])](read_text(job))


def report_error(error: str = "", line: int = 0, column: int = 0) -> dict[str, Any]:
    return {"error": error, "line": line, "column": column}


def find_yaml_error(text: str) -> dict[str, Any]:
    """Return the syntax error of a YAML text, if any, or an alias without an anchor. Tags are ignored."""
    yaml, loader = import_yaml()
    anchors: set[str] = set()
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.DocumentStartEvent):
                anchors.clear()
            elif isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
                mark = event.start_mark
                why = f"the alias *{event.anchor} has no anchor before it"
                return report_error(why, mark.line + 1, mark.column + 1)
            elif getattr(event, "anchor", None):
                anchors.add(event.anchor)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = ", ".join(part for part in (error.context, error.problem) if part)
        if mark and "\t" in "".join(text.splitlines()[mark.line : mark.line + 1]):
            why = f"a tab in line {mark.line + 1}, which some readers of YAML take: {words}"
            raise Unverified(why, "probe") from None
        return report_error(words, mark.line + 1 if mark else 0, mark.column + 1 if mark else 0)
    except yaml.YAMLError as error:
        return report_error(str(error).replace("\n", " ")[:200])
    return report_error()


def find_toml_error(text: str) -> dict[str, Any]:
    """Return the syntax error of a TOML text, if any. Raises Unverified for one nested too deeply."""
    module = import_toml()
    try:
        module.loads(text)
    except RecursionError:
        raise Unverified("the file is nested too deeply to be read", "probe") from None
    except ValueError as error:
        position = re.search(r"line (\d+),? col(?:umn)? (\d+)", str(error))
        words = re.sub(r" \(at .*\)\Z", "", str(error))
        return report_error(words[:200], *(map(int, position.groups()) if position else ()))
    return report_error()


def find_python_error(source: bytes) -> dict[str, Any]:
    """Return the syntax error of Python source, if any. Raises Unverified where a newer Python may accept it."""
    import warnings

    version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<file>", "exec", dont_inherit=True)
    except (RecursionError, MemoryError):
        raise Unverified(f"the file is nested too deeply for {version}", "probe") from None
    except SyntaxError as error:
        words = f"{error.text or ''}\n{error.msg}"
        newer = [needed for needed, sign in NEWER if sys.version_info < needed and sign.search(words)]
        if newer or b"python2" in source.split(b"\n", 1)[0]:
            which = f"Python {newer[0][0]}.{newer[0][1]}" if newer else "Python 2"
            why = f"{version} does not take line {error.lineno} ({error.msg}), which may be meant for {which}"
            raise Unverified(f"{why}; name the project's `interpreter` in the contract", "contract") from None
        return report_error(f"{error.msg} ({version})", error.lineno or 0, error.offset or 0)
    except ValueError as error:
        return report_error(f"{error} ({version})")
    return report_error()


# -- what value it holds ------------------------------------------------------------------------------


def read_value(job: dict[str, Any]) -> dict[str, Any]:
    """Return `value`, or `error` with `line` and `column` if the text does not parse. Several YAML documents become a
    list."""
    text = read_text(job)
    wrong = {"yaml": find_yaml_error, "toml": find_toml_error}[str(job["as"])](text)
    if wrong["error"]:
        return wrong
    if job["as"] == "toml":
        held = import_toml().loads(text)
        return {"value": Plain().of(held.unwrap() if hasattr(held, "unwrap") else held)}
    yaml, loader = import_yaml()
    try:
        nodes = list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, RecursionError) as error:
        raise Unverified(f"PyYAML does not compose it: {str(error)[:200]}", "probe") from None
    values = [Yaml(yaml).of(node) for node in nodes]
    values = [value for value in values if value is not None]  # between two --- there may be nothing
    return {"value": None if not values else values[0] if len(values) == 1 else values}


class Bounded:
    """Limits the number of values and the depth of nesting."""

    def __init__(self) -> None:
        self.count = 0

    def enter(self, depth: int) -> None:
        """Count one value. Raises Unverified above MOST values or DEEPEST levels."""
        self.count += 1
        if self.count > MOST:
            raise Unverified(f"the file holds more than {MOST} values, aliases spelt out", "probe")
        if depth > DEEPEST:
            raise Unverified(f"the file is nested more than {DEEPEST} levels deep, or contains itself", "probe")


class Plain(Bounded):
    """Converts TOML values to JSON; dates become strings."""

    def of(self, held: Any, depth: int = 0) -> Any:
        """Return a TOML value as JSON."""
        self.enter(depth)
        if isinstance(held, dict):
            return {str(key): self.of(item, depth + 1) for key, item in held.items()}
        if isinstance(held, list):
            return [self.of(item, depth + 1) for item in held]
        if isinstance(held, float) and (held != held or held in (float("inf"), float("-inf"))):
            return {DOUBT: f"{held} is no number to JSON"}
        return held if held is None or isinstance(held, (bool, int, float, str)) else held.isoformat()


class Yaml(Bounded):
    """Converts YAML nodes to JSON; keys are strings as written."""

    def __init__(self, yaml: Any) -> None:
        super().__init__()
        self.yaml = yaml

    def of(self, node: Any, depth: int = 0) -> Any:
        """Return the value of a node as JSON."""
        self.enter(depth)
        tag = str(node.tag or "")
        if not tag.startswith("tag:yaml.org,2002:"):
            return {DOUBT: f"it has the tag {tag[:60]}, and what that means only its own reader knows"}
        if isinstance(node, self.yaml.ScalarNode):
            return self.scalar(node, tag.removeprefix("tag:yaml.org,2002:"))
        if isinstance(node, self.yaml.SequenceNode):
            return [self.of(item, depth + 1) for item in node.value]
        parsed: dict[str, Any] = {}
        for key, value in self.pairs(node, depth):
            parsed[key] = {DOUBT: f"the key {key[:60]} stands twice"} if key in parsed else self.of(value, depth + 1)
        return parsed

    def pairs(self, node: Any, depth: int) -> Iterator[tuple[str, Any]]:
        """Yield the keys and value nodes of a map, then those merged by `<<` that the map does not set itself."""
        self.enter(depth)
        own: set[str] = set()
        merged: list[Any] = []
        for key, value in node.value:
            if not isinstance(key, self.yaml.ScalarNode):
                raise Unverified(f"line {key.start_mark.line + 1}: a key is a map or a list", "world")
            if key.value == "<<" and not key.style:
                merged += value.value if isinstance(value, self.yaml.SequenceNode) else [value]
            else:
                own.add(key.value)
                yield key.value, value
        for other in merged:
            if not isinstance(other, self.yaml.MappingNode):
                raise Unverified(f"line {other.start_mark.line + 1}: << needs a map", "world")
            for key, value in self.pairs(other, depth + 1):
                if key not in own:
                    own.add(key)
                    yield key, value

    def scalar(self, node: Any, kind: str) -> Any:
        """Return the value of a scalar by YAML 1.2's core schema, or a DOUBT where YAML 1.1 reads another."""
        text = str(node.value)
        if node.style:  # None and "" are plain
            return text if kind == "str" else {DOUBT: f"it has the tag !!{kind}"}
        if kind == "str" and (not DOUBTFUL.match(text) or INT.match(text) or FLOAT.match(text) or NULL.match(text)):
            return text  # a number here is one that says !!str
        if NULL.match(text):
            return None
        if BOOL.match(text):
            return text.lower() == "true"
        if INT.match(text):
            return int(text) if len(text) < 300 else {DOUBT: "it is a number of more than 300 digits"}
        if FLOAT.match(text) and float(text) not in (float("inf"), float("-inf")):
            return float(text)
        if DOUBTFUL.match(text) or kind not in ("str", "timestamp", "value"):
            return {DOUBT: f"{text[:60]} is written without quotes, and readers of YAML differ on what it is"}
        return text
