"""The generated parts of the docs: tables of fields, checks, commands and clients. Each block replaces the text
between two comments of a page; the prose around it is written by hand."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import click

from generate import rooms
from truecall_py import checks, clients
from truecall_py.cli import main
from truecall_py.clients import registration
from truecall_py.contract_files import fields as contract_fields
from truecall_py.contract_files.json_schema import ACCEPTED, EXAMPLE, SMALL_WORLD
from truecall_py.contract_files.yaml_writer import write_block, write_flow
from truecall_py.contracts import matchers
from truecall_py.core.paths import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from truecall_py.contracts.field import Field

ROOT = os.path.dirname(PACKAGE)
# What Markdown would take for markup, outside of code.
MARKUP = re.compile(r"([\\*<|])")
LONGEST = 100  # columns of a line that shows a fact of an example
OPTION = re.compile(r"(?<![\w`-])--[a-z][a-z-]*")


def between(text: str, mark: str, inside: str) -> str:
    """`text` with the lines between the two comments of `mark` replaced. Raises ValueError without them."""
    start, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
    head, found, rest = text.partition(start)
    if not found or end not in rest:
        raise ValueError(f"the marks of {mark} are missing")
    return head + start + inside + "\n" + end + rest.partition(end)[2]


def escape(text: str) -> str:
    """Plain text as Markdown of one line: code stays code, options become code, the rest is no markup."""
    pieces = text.split("`")
    for place in range(0, len(pieces), 2):
        pieces[place] = OPTION.sub(r"`\g<0>`", MARKUP.sub(r"\\\1", pieces[place]))
    pieces[1::2] = [piece.replace("|", "\\|") for piece in pieces[1::2]]
    return "`".join(pieces)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def type_words(field: Field) -> str:
    """The type of a field, in words."""
    words = ACCEPTED[field.kind][1]
    if field.choices:
        words = ", ".join(f"`{choice}`" for choice in field.choices)
        words += ", or a list of these" if field.kind == "choices" else ""
    return escape(words) + ("; templates" if field.templated else "")


def fields_table(fields: Iterable[Field]) -> str:
    """Name, meaning, type and default of each field."""
    rows = []
    for field in fields:
        default = "required" if field.required else ""
        if field.default is not None:
            default = f"`{field.default if isinstance(field.default, str) else json.dumps(field.default)}`"
        rows.append((f"`{field.name}`", escape(field.help), type_words(field), default))
    return table(("field", "meaning", "type", "default"), rows)


def properties_table(schema: dict[str, Any]) -> str:
    """Name and meaning of each property of a JSON Schema."""
    rows = ((f"`{name}`", escape(about["description"])) for name, about in schema["properties"].items())
    return table(("field", "meaning"), rows)


def checks_table() -> str:
    """One line for each check, with a link to its section."""
    rows = []
    for check in map(checks.load_check, checks.NAMES):
        cost = "" if check.COST is None else f"{check.COST:.1f}"
        rows.append((f"[`{check.NAME}`](#{check.NAME})", escape(check.SUMMARY), cost))
    return table(("check", "assertion", "cost"), rows)


def example(module: ModuleType, verdict: str) -> list[str]:
    """The first example of a check that gets this verdict: YAML below comments that show the files and the call."""
    for shown in module.EXAMPLES:
        if shown["verdict"] != verdict:
            continue
        context = {key: shown[key] for key in ("before", "files", "setup", "args", "result") if shown.get(key)}
        facts = [line for key, value in context.items() if len(line := f"# {key}: {write_flow(value)}") <= LONGEST]
        check = json.loads(json.dumps({module.NAME: shown["check"]}).replace("{port}", "8080"))
        return [f"# {verdict}: {shown['title']}", *facts, *write_block(check, 0)]
    return []


def check_section(name: str) -> str:
    """Summary, fields, cost and examples of one check."""
    module = checks.load_check(name)
    needs = ", ".join(f"`{needed}`" for needed in module.ASSERTS)
    shown = [example(module, verdict) for verdict in ("verified", "refuted", "unverified")]
    parts = [escape(module.SUMMARY), fields_table(module.FIELDS)]
    if needs and not any(field.required for field in module.FIELDS if field.name in module.ASSERTS):
        parts.append(f"Give at least one of {needs}." if "," in needs else f"Give {needs}.")
    if module.COST is not None:
        parts.append(f"Cost: {module.COST:.1f} times a bare Python start.")
    parts.append("\n".join(["~~~yaml", *(line for lines in shown for line in lines), "~~~"]))
    return "\n\n".join(parts)


def command_section(name: str) -> str:
    """Usage, help and options of one command."""
    command = main.group.get_command(click.Context(main.group), name)
    assert command is not None
    context = click.Context(command, info_name=f"truecall {name}")
    pieces = " ".join(command.collect_usage_pieces(context))
    parts = [f"## truecall {name}", f"```text\ntruecall {name} {pieces}\n```", *help_paragraphs(command)]
    records = [param.get_help_record(context) for param in command.get_params(context)]
    rows = [(f"`{record[0]}`".replace("|", "\\|"), escape(record[1])) for record in records if record]
    return "\n\n".join([*parts, table(("option", "meaning"), rows)])


def help_paragraphs(command: click.Command) -> list[str]:
    """The paragraphs of a command's help; indented ones are code."""
    import inspect

    parts = []
    for paragraph in inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n"):
        if paragraph.startswith("    "):
            parts.append(f"```sh\n{inspect.cleandoc(paragraph)}\n```")
        else:
            parts.append(escape(" ".join(paragraph.split())))
    return parts


def commands_page() -> str:
    """A table of the commands, then a section for each."""
    rows = [(f"[`{name}`](#truecall-{name})", escape(summary)) for name, summary in main.COMMANDS.items()]
    sections = [command_section(name) for name in main.COMMANDS]
    return "\n\n".join([table(("command", "what it does"), rows), *sections])


def clients_table() -> str:
    """Where each client is registered, and for which events."""
    rows = []
    for name in clients.NAMES:
        about: registration.Registration = clients.load_registration(name)
        folder = about.home[2]
        user = os.path.join("~", folder, about.user) if folder else about.user
        events = ", ".join(f"`{event}`" for event in about.events)
        rows.append((f"`{name}`", about.client, events, f"`{user}`", f"`{about.project}`"))
    return table(("name", "client", "events", "settings file", "for one project"), rows)


def rooms_table() -> str:
    """The rooms from the ground up, with their purpose."""
    return table(("room", "what it is for"), ((f"`{room}`", escape(rooms.purpose(room))) for room in rooms.ordered()))


def pages() -> dict[str, dict[str, str]]:
    """Page -> its marks and the text between them."""
    return {
        "docs/reference/checks.md": {
            "checks": checks_table(), **{f"check {name}": check_section(name) for name in checks.NAMES},
        },
        "docs/reference/commands.md": {"commands": commands_page()},
        "docs/explanation/architecture.md": {"rooms": rooms_table()},
        "docs/reference/clients.md": {"clients": clients_table()},
        "docs/reference/contract-format.md": {
            "fields file": fields_table(contract_fields.FILE_FIELDS),
            "fields contract": fields_table(contract_fields.FIELDS),
            "fields policy": fields_table(contract_fields.POLICY_FIELDS),
            "fields receipt": fields_table(contract_fields.RECEIPT_FIELDS),
            "fields matcher": fields_table(matchers.FIELDS),
            "fields example": properties_table(EXAMPLE),
            "fields world": properties_table(SMALL_WORLD),
        },
    }  # fmt: skip


def files() -> dict[str, str]:
    """Every page that holds a generated part: path below the repository -> text."""
    made = {}
    for page, marks in pages().items():
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = file.read()
        for mark, inside in marks.items():
            if mark.startswith("check ") and f"<!-- {mark} -->" not in text:  # of a check that was added just now
                text += f"\n## {mark[6:]}\n\n<!-- {mark} -->\n<!-- /{mark} -->\n"
            text = between(text, mark, inside)
        made[page] = text
    return made
