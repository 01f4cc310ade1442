"""Reads a file as a value: JSON here, .env and INI in `env_and_ini`, YAML and TOML in the worker. A broken file
raises Malformed. A file on which readers disagree raises Unverified."""

from __future__ import annotations

from truecall_py.checks.support.env_and_ini import DOUBT, Malformed, parse_env, parse_ini
from truecall_py.core.errors import Unverified
from truecall_py.core.fast_json import JsonError, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.world import World

WORDS = {"json": "JSON", "jsonc": "JSON with comments", "yaml": "YAML", "toml": "TOML", "env": ".env", "ini": "INI",
         "python": "Python"}  # fmt: skip
ENDINGS = {
    "json": "json", "jsonc": "jsonc", "code-workspace": "jsonc", "webmanifest": "json", "geojson": "json",
    "ipynb": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "env": "env", "ini": "ini", "cfg": "ini",
    "editorconfig": "ini", "py": "python", "pyi": "python", "pyw": "python",
}  # fmt: skip
NAMES = {"Pipfile": "toml", "Cargo.lock": "toml", "poetry.lock": "toml", "uv.lock": "toml", "Pipfile.lock": "json",
         "composer.lock": "json", "flake.lock": "json"}  # fmt: skip
# Files named as JSON whose programs accept comments; and files in which no program accepts them.
COMMENTED = ("devcontainer.json", "deno.json", "wrangler.json", "api-extractor.json", "turbo.json", "biome.json",
             "nx.json", "language-configuration.json", "keybindings.json", "typedoc.json", "babel.config.json",
             ".eslintrc.json")  # fmt: skip
STRICT = ("package.json", "package-lock.json", "composer.json", "manifest.json", "bower.json", "lerna.json")
LONGEST = 4_000_000  # characters that are searched for comments


def find_format(path: str) -> str:
    """Return the format that the name of a file says, or ""."""
    folder, _, name = path.rpartition("/")
    ending = name.rpartition(".")[2].lower()
    if name in NAMES:
        return NAMES[name]
    if name == ".env" or name.startswith(".env."):
        return "env"
    known = name in COMMENTED or name.startswith(("tsconfig", "jsconfig"))
    if ending == "json" and (known or folder.rpartition("/")[2] in (".vscode", ".devcontainer")):
        return "jsonc"
    return ENDINGS.get(ending, "")


def decode(data: bytes, what: str) -> str:
    """Return the text of a UTF-8 file. Raises Malformed or Unverified."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise Unverified("the file is UTF-16, which is not read", "probe")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if what in ("env", "ini"):
            raise Unverified("the file is not UTF-8, and its encoding is not known", "probe") from None
        line = data.count(b"\n", 0, error.start) + 1
        raise Malformed(f"the byte 0x{data[error.start]:02x} is not UTF-8", line) from None


def read_value(data: bytes, kind: str, path: str, given: bool, world: World) -> Any:
    """Return the value in a file; `given`: the contract names its format. Raises Malformed or Unverified."""
    text = decode(data, kind)
    if kind in ("json", "jsonc"):
        return parse_json(text, kind, path, given)
    if kind in ("env", "ini"):
        try:
            return parse_env(text) if kind == "env" else parse_ini(text)
        except Malformed as why:  # no standard decides
            raise Unverified(f"the file is not read as {WORDS[kind]}: {why}", "probe") from None
    answer: Any = world.slow({"do": "document", "as": kind, "text": text, "project": world.project})
    if answer.get("error"):
        raise Malformed(answer["error"], answer["line"], answer["column"])
    return answer["value"]


def parse_json(text: str, kind: str, path: str, given: bool) -> Any:
    """Return the value of JSON. Comments are an error only if they are certainly not allowed. Raises Malformed or
    Unverified."""
    try:
        return loads(text)
    except JsonError as error:
        why = str(error)
    bare = text if len(text) > LONGEST else strip_comments(text)
    if bare != text:
        try:
            value = loads(bare)
        except JsonError:
            pass
        else:
            if kind == "jsonc":
                return value
            line = next(number for number, (left, right) in enumerate(
                zip(text.split("\n"), bare.split("\n"), strict=True), 1) if left != right)  # fmt: skip
            words = "it holds a comment or a comma too many, which JSON has not"
            if given or path.rpartition("/")[2] in STRICT:
                raise Malformed(words, line)
            raise Unverified(f"{words} (line {line}); its own program may take it: say jsonc", "contract")
    raise explain_mistake(bare if kind == "jsonc" else text, why)


def explain_mistake(text: str, why: str) -> Exception:
    """Return the error of a JSON text. Raises Unverified if other readers accept it."""
    from json import JSONDecodeError
    from json import loads as lenient

    try:
        lenient(text)
    except JSONDecodeError as error:
        return Malformed(error.msg, error.lineno, error.colno)
    except (RecursionError, ValueError):
        return Unverified(why, "probe")
    return Unverified(f"readers of JSON differ on the file: {why}", "probe")


def strip_comments(text: str) -> str:
    """Return the text with comments and trailing commas replaced by blanks, so that every character keeps its
    place."""
    made = list(text)
    at, comma = 0, -1
    while at < len(text):
        character = text[at]
        if character == '"':
            at = skip_text(text, at)
            comma = -1
            continue
        if text.startswith(("//", "/*"), at):
            ends = text.find("\n", at) if text[at + 1] == "/" else text.find("*/", at + 2) + 2
            if ends < at + 2:
                ends = len(text) if text[at + 1] == "/" else at
                if ends == at:
                    return "".join(made)  # an unclosed comment: the scanner reports it
            made[at:ends] = [each if each == "\n" else " " for each in text[at:ends]]
            at = ends
            continue
        if character == ",":
            comma = at
        elif character in "]}" and comma >= 0:
            made[comma] = " "
        if character not in " \t\r\n,":
            comma = -1
        at += 1
    return "".join(made)


def skip_text(text: str, at: int) -> int:
    """Return the end of the quoted text that begins at `at`."""
    at += 1
    while at < len(text) and text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def explain_doubt(value: Any) -> str:
    """Return why a value, or a part of it, is doubtful; "" if it is not."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if DOUBT in item:
                return str(item[DOUBT])
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return ""
