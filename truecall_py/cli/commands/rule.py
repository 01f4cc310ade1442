"""`truecall rule`: explains a lint code, with an example that is wrong and the same made right."""

from __future__ import annotations

import difflib
from textwrap import fill, indent

import click

from truecall_py.contract_files.lint.codes import CODES, Code, explain
from truecall_py.core.errors import UsageError

WIDTH = 80  # columns


@click.command("rule")
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="Explain every code.")
def rule(code: str | None, every: bool) -> None:
    """Explain a code of `truecall lint`.

    CODE is a code such as TC101, or its name, such as unknown-key. The explanation says what the code finds, why it
    matters, and shows an example with its fix.

    Exit codes: 0 printed, 2 an unknown code or wrong usage.
    """
    if every == (code is not None):
        raise UsageError("give either a code or --all", do="truecall rule TC101")
    entries = [find_code(code)] if code else CODES
    click.echo("\n\n".join(map(describe_code, entries)))


def find_code(text: str) -> Code:
    """Return the code that a person means. Raises UsageError with the nearest codes."""
    by_name = {key.lower(): entry for entry in CODES for key in (entry.code, entry.name)}
    if text.lower() in by_name:
        return by_name[text.lower()]
    near = [by_name[key] for key in difflib.get_close_matches(text.lower(), by_name, n=3, cutoff=0.6)]
    names = ", ".join(dict.fromkeys(f"{entry.code} {entry.name}" for entry in near))
    hint = f"did you mean {names}?" if near else "`truecall rule --all` explains every code"
    raise UsageError(f"there is no lint code {text!r}", do=hint)


def describe_code(entry: Code) -> str:
    """Return the explanation of a code as plain text."""
    explained = explain(entry.code)
    return "\n".join((
        f"{entry.code} {entry.name} ({entry.severity})",
        "", "What it finds", wrap_paragraph(entry.summary),
        "", "Why", wrap_paragraph(explained.why),
        "", "Example", indent(explained.wrong[1].rstrip(), "  "),
        "", "Instead", wrap_paragraph(entry.fix), "", indent(explained.right[1].rstrip(), "  "),
    ))  # fmt: skip


def wrap_paragraph(text: str) -> str:
    return fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
