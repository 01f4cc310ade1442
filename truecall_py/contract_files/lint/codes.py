"""The lint codes: what each one finds and how to fix it. `codes.md` beside this file holds the reason and an example
of each; `truecall rule`, docs/reference/lint-codes.md and the rules of the SARIF report come from both."""

from __future__ import annotations

import os

from truecall_py.core.record import record
from truecall_py.core.types import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


@record(frozen=True)
class Code:
    """One lint code. `name` is its short name, `summary` says what it finds, `fix` what to do about it."""

    code: str
    severity: str
    name: str
    summary: str
    fix: str


@record(frozen=True)
class Explanation:
    """Why a code matters, an example that is wrong, and the same made right. An example is (language, text): yaml is
    a contract file or a list of its contracts, sh a script that makes the file."""

    why: str
    wrong: tuple[str, str]
    right: tuple[str, str]


def error(code: str, name: str, summary: str, fix: str) -> Code:
    return Code(code, "error", name, summary, fix)


def warning(code: str, name: str, summary: str, fix: str) -> Code:
    return Code(code, "warning", name, summary, fix)


PARTS = (
    ("TC0", "The text of the file", "A contract file is a strict subset of YAML, so that all readers see the same."),
    ("TC1", "Its structure", "These codes follow the JSON Schema that `truecall schema` prints."),
    ("TC2", "Its meaning", "These codes find what a JSON Schema cannot express."),
    ("TC3", "Advice", "Most of these are warnings: the hook accepts the file, but a contract probably does not do "
     "what you meant."),
)  # fmt: skip

CODES: Sequence[Code] = (
    error("TC001", "too-large", "The file is too large, has too many values, or is nested too deeply.",
          "Split the file, or remove what does not belong in it."),
    error("TC002", "not-utf-8", "The file is not UTF-8.", "Save the file as UTF-8."),
    error("TC003", "invisible-character", "The file contains a control character or an invisible character.",
          "Remove it, or write it as an escape in double quotes, e.g. \"\\u200b\"."),
    error("TC004", "not-yaml", "The file is not valid YAML.", "Fix the syntax. Quote texts that contain : or #."),
    error("TC005", "tab", "The file contains a tab as white space.",
          "Indent with spaces. Quote a text that contains a tab."),
    error("TC006", "several-documents", "The file contains more than one YAML document.",
          "Keep one document and remove the second `---`."),
    error("TC007", "tag", "The file contains a YAML tag (`!...`).", "Remove the tag. Quote a value that is text."),
    error("TC008", "alias", "The file contains a YAML anchor or alias (`&...`, `*...`).",
          "Write the value out where you need it. Quote a text that begins with & or *."),
    error("TC009", "merge-key", "The file contains a merge key (`<<`).", "Write the keys out."),
    error("TC010", "duplicate-key", "A map contains the same key twice.", "Remove one of the two, or make a list."),
    error("TC011", "key-not-text", "A key is not text.",
          "Write a text as the key. Quote a number, a date or a word such as true."),
    error("TC012", "ambiguous-word", "An unquoted word is true, false or null to some YAML readers only.",
          "Quote it, or write true, false or null."),
    error("TC013", "ambiguous-number", "An unquoted value is not the same number to all YAML readers.",
          "Quote it, or write the number in plain decimal form."),
    error("TC014", "ambiguous-date", "An unquoted value is a date or a time to some YAML readers.", "Quote it."),
    error("TC015", "unquoted-template", "An unquoted value begins with `{{`, which is a map in YAML.",
          "Quote the template."),
    error("TC016", "directive", "The file contains a YAML directive (`%...`).", "Remove the directive."),
    error("TC017", "no-value", "A key has no value.", "Add a value, or remove the key."),
    error("TC101", "unknown-key", "The contract format has no such key.", "Correct the spelling, or remove the key."),
    error("TC103", "missing-key", "A required key is missing.", "Add the key."),
    error("TC104", "wrong-type", "A value has the wrong type.",
          "Write a value of the expected type. Quote a value that is text."),
    error("TC105", "unknown-value", "A value is not one of the allowed words.", "Use one of the allowed words."),
    error("TC106", "wrong-form", "A text does not have the form that the field needs.",
          "Write the text in the form that the message shows."),
    error("TC107", "several-checks", "One map contains several checks.", "Write a list with one check per entry."),
    error("TC108", "empty", "A list, map or text is empty.", "Fill it, or remove its key."),
    error("TC109", "asserts-nothing", "A check asserts nothing.", "Add a field that says what must hold."),
    error("TC110", "no-target", "A contract names neither a tool nor a kind of call.", "Add `tool` or `kind`."),
    error("TC111", "no-contract", "The file has no contract and uses no pack.", "Write a contract, or use a pack."),
    error("TC112", "out-of-range", "A number is out of range.", "Use a number in the range that the message shows."),
    error("TC113", "duplicate-entry", "A list contains the same entry twice.", "Remove one of the two."),
    error("TC114", "unknown-check", "truecall has no such check.",
          "Use a check of truecall: `truecall schema` contains them all."),
    error("TC115", "unknown-operator", "truecall has no such matcher operator.",
          "Use a matcher operator. To compare with a map, write {equals: {...}}."),
    error("TC116", "no-authority", "A receipt comes from a source that has no authority.",
          "Use a check that asks the system itself, such as http_status."),
    error("TC201", "malformed-template", "A template is malformed.",
          "Write {{args.title}} or {{args.title | default: \"text\"}}."),
    error("TC202", "template-not-filled", "A template is in a field that takes no templates.",
          "Write the value itself."),
    error("TC203", "unknown-template-name", "A template names a value that no call has.",
          "Use one of the names of a call."),
    error("TC204", "unknown-when-name", "`when` names a value that no call has.", "Use one of the names of a call."),
    error("TC205", "not-captured", "`{{match.NAME}}` is used, but no `runs` pattern in `when` captures NAME.",
          "Capture it: when: {args.command: {runs: \"npm install {x...}\"}}."),
    error("TC206", "malformed-regex", "A regular expression does not compile.",
          "Fix the regular expression. Python's `re` reads it."),
    error("TC207", "malformed-runs", "A `runs` pattern is malformed.",
          "Write the words of one command, e.g. \"git push *\"."),
    error("TC208", "runs-elsewhere", "`runs` is used on something other than the command of a call.",
          "Use `runs` only as when: {args.command: {runs: ...}}."),
    error("TC209", "duplicate-id", "Two contracts have the same id.", "Rename one of them."),
    error("TC210", "zero-duration", "A duration is zero.", "Give it a length, or remove its key."),
    error("TC211", "template-in-host", "A template would form the scheme, host or port of a URL.",
          "Write scheme, host and port out. Use templates only after the host."),
    error("TC212", "template-in-script", "A template is inside a script on a command line.",
          "Pass the value as an argument: [sh, -c, 'test -e \"$1\"', sh, \"{{args.path}}\"]."),
    error("TC213", "unknown-pack", "truecall has no such pack.", "Use one of the packs that the message lists."),
    error("TC214", "malformed-schema", "An inline JSON Schema is invalid.",
          "Fix the schema. Its draft is the one of $schema, or 2020-12."),
    error("TC215", "broken-pack", "A pack that came with truecall cannot be used.", "Install truecall again."),
    error("TC216", "exclusive-fields", "A check has two fields that exclude each other.",
          "Remove one of the two fields."),
    error("TC217", "malformed-function", "The function of a `custom` check is not written as file and function.",
          "Write it as checks/notes.py:note_saved."),
    error("TC218", "no-value-before", "A matcher compares with the value before the call, but no snapshot has it.",
          "Use increased_by and changed in a check that takes a snapshot, such as value or files."),
    error("TC219", "claim-without-evidence", "A claim has nothing that could back it, or no stop.",
          "Write event: stop, and post, tool or kind: what must hold, or which calls must have been made."),
    error("TC220", "useless-receipt", "A receipt can never settle its operation, or a key belongs to no receipt.",
          "Give states one that means verified. Write receipt and key in a contract with tool or kind."),
    error("TC221", "unknown-step", "`steps` names something other than contracts of one operation.",
          "Write event: stop, and the ids of contracts of this file that are judged after calls."),
    error("TC230", "guard-without-call", "A guard has no call, or an option for guards has no guard.",
          "Move pre and requires to a contract with tool or kind. Remove on_unverified if it has neither."),
    error("TC231", "condition-on-answer", "A contract that runs only before the call has a condition on the answer.",
          "Use a condition on the arguments, or add `post`, for which the condition then counts."),
    error("TC232", "template-of-answer", "A template in `pre` needs the answer to the call.",
          "Use args, file, match, cwd or project."),
    error("TC233", "check-of-answer", "A check in `pre` looks at what the call did.",
          "Move it to `post`, or check what must hold before the call."),
    error("TC301", "wrong-file-name", "truecall does not read the file, because its name is not truecall.yaml.",
          "Rename the file to truecall.yaml."),
    error("TC302", "no-file", "The contract file does not exist, or cannot be read.",
          "Write the file, or name the one that you mean."),
    warning("TC303", "missing-code", "The code that a contract names cannot be read, so truecall cannot pin it.",
          "Correct the path, or write the file. Until you trust it, the check is unverified."),
    warning("TC310", "always-true", "A condition is always true.", "Write a condition that can fail."),
    warning("TC311", "no-exit-code", "A contract needs an exit code, but the tool has none.",
          "Check the effect instead."),
    warning("TC312", "beyond-deadline", "A duration is longer than the hook may run.", "Use a shorter duration."),
    warning("TC313", "slow-regex", "A regular expression may take exponential time.",
          "Rewrite it so that each text matches in one way only."),
    warning("TC314", "call-decides", "A value of the call alone decides which file is checked or which program runs.",
          "Put literal text before the template. The value cannot leave it."),
    warning("TC315", "regex-on-command", "A regular expression or a text search is used on a shell command.",
          "Use `runs`, which parses the command. It ignores quotes, comments and commands that did not run."),
    warning("TC316", "every-command", "A contract applies to every shell command.",
          "Add when: {args.command: {runs: ...}}."),
    warning("TC317", "comma-in-tool", "A tool name contains a comma.", "Write a list: [Write, Edit]."),
    warning("TC318", "regex-in-tool", "A tool name looks like a regular expression.",
          "Write a glob. Only * and ? are special."),
    warning("TC319", "idle-every", "`every` is used without `within` or `stable_for`.",
          "Add one of them, or remove `every`."),
    warning("TC320", "effect-not-granted", "A guard requires an effect that no known contract grants.",
          "Add `grants` with that name to the contract that verifies the effect."),
    warning("TC321", "unknown-format", "truecall does not assert this `format` of a JSON Schema.",
          "Write a `pattern` instead, or remove the format."),
)  # fmt: skip

BY_CODE = {entry.code: entry for entry in CODES}
DOCS_HEAD = """\
# Lint codes

`truecall lint` reports these codes, and `truecall rule CODE` explains one of them. A code never changes its meaning.
The hook does not use a file with an error. A warning changes nothing.
"""


def explain(code: str) -> Explanation:
    """Return the explanation of a code. Raises KeyError for an unknown code."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "codes.md"), encoding="utf-8") as file:
        _, found, rest = file.read().partition(f"# {code} ")
    if not found:
        raise KeyError(code)
    pieces = rest.partition("\n# TC")[0].partition("\n")[2].split("~~~")
    wrong, right = ((block.partition("\n")[0], block.partition("\n")[2]) for block in pieces[1::2])
    return Explanation(pieces[0].strip(), wrong, right)


def make_problem(code: str, place: tuple[int, int], message: str, hint: str = "") -> Problem:
    """Return a problem at (line, column). Text that it quotes from the file cannot move a terminal's cursor."""
    entry = BY_CODE[code]
    return Problem(*place, code, escape_control(message), escape_control(hint or entry.fix), entry.severity)


def escape_control(text: str) -> str:
    """Return the text with its control and invisible characters as escapes."""
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def build_page() -> str:
    """Return the text of docs/reference/lint-codes.md."""
    lines = [DOCS_HEAD]
    for prefix, title, words in PARTS:
        entries = [entry for entry in CODES if entry.code.startswith(prefix)]
        lines += [f"## {title}\n", f"{words}\n", "| code | severity | what it finds |", "|---|---|---|"]
        for entry in entries:
            anchor = f"{entry.code.lower()}-{entry.name}"
            lines.append(f"| [{entry.code}](#{anchor}) | {entry.severity} | {escape_cell(entry.summary)} |")
        lines += ["", *map(build_section, entries)]
    return "\n".join(lines).rstrip() + "\n"


def build_section(entry: Code) -> str:
    """Return the section of a code in the docs."""
    explained = explain(entry.code)
    wrong, right = (f"~~~{language}\n{text}~~~" for language, text in (explained.wrong, explained.right))
    return (
        f"### {entry.code} {entry.name}\n\n**What it finds**: {entry.summary} ({entry.severity})\n\n"
        f"**Why**: {explained.why}\n\n**Example**\n\n{wrong}\n\n**Instead**: {entry.fix}\n\n{right}\n"
    )


def escape_cell(text: str) -> str:
    return text.replace("|", "\\|")
