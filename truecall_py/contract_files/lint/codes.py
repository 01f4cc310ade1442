"""The table of lint codes: one stable code for each fault of a contract file. `docs/reference/lint-codes.md` and the
rules of the SARIF report are generated from it. Never looks at a file itself."""

from __future__ import annotations

from truecall_py.core.record import record
from truecall_py.core.types import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


@record(frozen=True)
class Code:
    """One kind of finding. `summary` says what is wrong, `fix` what to do about it."""

    code: str
    severity: str
    summary: str
    fix: str


def error(code: str, summary: str, fix: str) -> Code:
    return Code(code, "error", summary, fix)


def warning(code: str, summary: str, fix: str) -> Code:
    return Code(code, "warning", summary, fix)


PARTS = (
    (
        "TC0",
        "The text of the file",
        "A contract file is a strict subset of YAML, so that every reader sees the same.",
    ),
    ("TC1", "Its structure", "Exactly what the JSON Schema says that `truecall schema` prints."),
    ("TC2", "Its meaning", "Faults that a JSON Schema cannot find."),
    ("TC3", "Advice", "The file is accepted, but one of its contracts probably does not do what was meant."),
)

CODES: Sequence[Code] = (
    error("TC001", "The file is too large, has too many values or is nested too deeply.", "Split it."),
    error("TC002", "The file is not UTF-8.", "Save it as UTF-8."),
    error("TC003", "A control or invisible character stands in the file.",
          'Remove it, or write it as an escape in double quotes, e.g. "\\u200b".'),
    error("TC004", "The file is not YAML.", "Mend the syntax; texts with : or # need quotes."),
    error("TC005", "A tab is used as white space.", "Indent with spaces; quote a text that holds a tab."),
    error("TC006", "The file holds more than one document.", "Keep one; remove the second `---`."),
    error("TC007", "A YAML tag (`!...`) is used.", "Remove it; quotes make a value text."),
    error("TC008", "A YAML anchor or alias (`&...`, `*...`) is used.",
          "Write the value out where it is needed; quote a text that begins with & or *."),
    error("TC009", "A merge key (`<<`) is used.", "Write the keys out."),
    error("TC010", "The same key stands twice in one map.", "Remove one, or make a list."),
    error("TC011", "A key is not text.", "Quote the key."),
    error("TC012", "An unquoted word that some YAML readers take for true, false or null.",
          "Quote it, or write true, false or null."),
    error("TC013", "An unquoted value that is not the same number to every YAML reader.",
          "Quote it, or write the number in its plain decimal form."),
    error("TC014", "An unquoted date or time.", "Quote it."),
    error("TC015", "An unquoted value begins with `{{`, which is a map in YAML.", "Quote the template."),
    error("TC016", "A YAML directive (`%...`) is used.", "Remove it."),
    error("TC017", "A key has no value.", "Give it one, or remove the key."),
    error("TC101", "A key that the format does not know.", "Mend the spelling, or remove it."),
    error("TC103", "A key that is needed is missing.", "Add it."),
    error("TC104", "A value is of the wrong type.", "Write what is expected; quotes make a value text."),
    error("TC105", "A value is not one of those allowed.", "Use one of those that are named."),
    error("TC106", "A text does not have the form that is needed.", "Write it as shown."),
    error("TC107", "One map holds several checks.", "Write a list, one check an entry."),
    error("TC108", "A list, map or text is empty.", "Fill it, or remove its key."),
    error("TC109", "A check asserts nothing.", "Say what must hold."),
    error("TC110", "A contract names neither a tool nor a kind of call.", "Add `tool` or `kind`."),
    error("TC111", "The file has no contract and uses no pack.", "Write a contract, or use a pack."),
    error("TC112", "A number is out of its range.", "Use a number in the range."),
    error("TC113", "The same entry stands twice in a list.", "Remove one."),
    error("TC114", "A check that truecall does not know.", "Use one of the checks that are named."),
    error("TC115", "A matcher operator that truecall does not know.",
          "Use one of the operators; to compare with a map, write {equals: {...}}."),
    error("TC116", "A receipt that does not come from an authoritative source.",
          "Use http_status, command, sqlite or custom: what the tool itself says settles nothing."),
    error("TC201", "A template is malformed.", 'Write {{args.title}} or {{args.title | default: "text"}}.'),
    error("TC202", "A template stands where none is filled in.", "Write the value itself."),
    error("TC203", "A template names what a call does not have.", "Use one of the names of a call."),
    error("TC204", "`when` names what a call does not have.", "Use one of the names of a call."),
    error("TC205", "`{{match.x}}` is used, but no `runs` pattern in `when` captures it.",
          'Capture it: when: {args.command: {runs: "npm install {x...}"}}.'),
    error("TC206", "A regular expression does not compile.", "Mend it; it is read by Python's re."),
    error("TC207", "A `runs` pattern is malformed.", 'Write the words of one command, e.g. "git push *".'),
    error("TC208", "`runs` is used for something that is not the command of a call.",
          "Use it in when: {args.command: {runs: ...}} only."),
    error("TC209", "Two contracts have the same id.", "Rename one."),
    error("TC210", "A duration of nothing.", "Give it a length, or remove its key."),
    error("TC211", "A template would form the scheme, host or port of a URL.",
          "Write those out; only what follows the host may come from the call."),
    error("TC212", "A template stands inside a script on a command line.",
          'Pass the value as an argument: [sh, -c, "test -e \\"$1\\"", sh, "{{args.path}}"].'),
    error("TC213", "A pack that truecall does not have.", "Use one of the packs that are named."),
    error("TC214", "An inline JSON Schema is not one.", "Mend it; the draft is that of $schema, or 2020-12."),
    error("TC215", "A pack that came with truecall cannot be used.", "Install truecall anew."),
    error("TC216", "A check says the same in two ways; only one would count.", "Remove one of them."),
    error("TC217", "The Python function of a `custom` check is not named as file and function.",
          "Write it as checks/notes.py:note_saved."),
    error("TC218", "A matcher compares with the value before the call where nothing looks at that.",
          "Use increased_by and changed in a check that takes a snapshot before the call, such as value or files."),
    error("TC219", "A claim that nothing is asked of, or that no stop is about.",
          "Write event: stop, and post, tool or kind: what must hold, or the calls that must have been made."),
    error("TC220", "A receipt that can settle nothing, or a key that belongs to none.",
          "Give states one that is verified; write receipt for a tool or kind, and key beside it."),
    error("TC221", "Steps that are not the contracts of an operation.",
          "Write event: stop, and the ids of contracts of this file that are judged after calls."),
    error("TC230", "A guard where no call is about to be made, or what a guard does without a guard.",
          "Move `pre` and `requires` to a contract with tool or kind; remove `on_unverified` without either."),
    error("TC231", "A contract that is asked only before the call has a condition on the answer to it.",
          "Ask for what the arguments tell, or add `post`, for which the condition then counts."),
    error("TC232", "A template in `pre` needs the answer to the call.", "Use args, file, match, cwd or project."),
    error("TC233", "A check in `pre` looks at what the call did.",
          "Put it in `post`, or ask for what must be so before the call."),
    error("TC301", "The file is not read, since its name is not truecall.yaml.", "Rename it."),
    error("TC302", "There is no contract file there, or it cannot be read.", "Write one, or name the file you mean."),
    warning("TC303", "The code that a contract names cannot be read, so it is not trusted.",
            "Mend the path, or write the file; until it is trusted, the contract is could-not-verify."),
    warning("TC310", "A check that is always true.", "Ask for something that can fail."),
    warning("TC311", "An exit code is asked of a tool that has none.", "Check the effect instead."),
    warning("TC312", "A duration is longer than the hook may run.", "Use less, or check something sooner."),
    warning("TC313", "A regular expression that may take very long.", "Make its repetitions unambiguous."),
    warning("TC314", "A value of the call decides where is looked or what is run.",
            "Put literal text before it, which it cannot leave."),
    warning("TC315", "A regular expression or text search on a shell command.",
            "Use runs, which parses the command: quotes, comments and && are not taken for what was run."),
    warning("TC316", "A contract applies to every shell command.", "Add when: {args.command: {runs: ...}}."),
    warning("TC317", "A tool name that holds a comma.", "Write a list: [Write, Edit]."),
    warning("TC318", "A tool name that looks like a regular expression.", "It is a glob: * and ? only."),
    warning("TC319", "`every` without `within` or `stable_for`.", "Add one of them, or remove it."),
    warning("TC320", "An effect that a guard requires, and that no contract known here grants.",
            "Write `grants:` with that name in the contract that verifies it; until then each such call is refused."),
    warning("TC321", "A `format` in a JSON Schema that is not asserted.", "Write a `pattern` for it, or remove it."),
)  # fmt: skip

BY_CODE = {entry.code: entry for entry in CODES}


def problem(code: str, place: tuple[int, int], message: str, hint: str = "") -> Problem:
    """A finding at line and column. What is quoted from the file cannot move a terminal's cursor."""
    return Problem(
        place[0],
        place[1],
        code,
        printable(message),
        printable(hint or BY_CODE[code].fix),
        BY_CODE[code].severity,
    )


def printable(text: str) -> str:
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "backslashreplace").decode("ascii")
        for character in text
    )


def document() -> str:
    """The text of docs/reference/lint-codes.md."""
    lines = [
        "# Codes of `truecall lint`",
        "",
        "Made from `truecall_py/contract_files/lint/codes.py`; a test holds it to that. The codes are stable: none",
        "is used again for anything else. A file with an error is not used; a warning changes nothing.",
    ]
    for prefix, title, words in PARTS:
        lines += [
            "",
            f"## {title}",
            "",
            words,
            "",
            "| code | severity | what is wrong | what to do |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {entry.code} | {entry.severity} | {cell(entry.summary)} | {cell(entry.fix)} |"
            for entry in CODES
            if entry.code.startswith(prefix)
        ]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    return text.replace("|", "\\|")
