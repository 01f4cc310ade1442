"""Reads SQL as far as a guard needs: statements, their kinds, and whether a DELETE or UPDATE has its own WHERE. It
runs nothing and knows no database. If SQL dialects disagree, the result is uncertain."""

from __future__ import annotations

from truecall_py.core.record import record

LARGEST, DEEPEST = 1 << 20, 100  # letters that are read, and parentheses in each other
DML = ("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "VALUES", "TABLE")
CHANGES = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE")
SWEEPS = ("DELETE", "UPDATE")
UNDOES = ("ROLLBACK", "ABORT")
# Words that are allowed between DELETE and FROM, or after UPDATE.
HASTE = ("LOW_PRIORITY", "QUICK", "IGNORE")
EXPLAINS = ("EXPLAIN", "DESCRIBE", "DESC", "ANALYZE", "PROFILE")
# After a word of CHANGES: then that word is a function or a column.
NO_STATEMENT = ("?", "(", ")")
READS = ("SELECT", "VALUES", "TABLE", "WITH", "(")
CHANGES_INTO = frozenset(("INSERT", "MERGE", "REPLACE"))
# Words that limit the rows without a WHERE in some dialect.
BOUNDED = ("WHERE", "LIMIT", "JOIN", "TOP", "FETCH", "CURRENT")
# Words that begin a body of statements, which may not run now.
BODIES = ("TRIGGER", "FUNCTION", "PROCEDURE", "EVENT", "PACKAGE", "RULE", "TASK")
BLOCKS = ("DECLARE", "IF", "WHILE", "LOOP", "FOR", "CASE", "DO", "DELIMITER", "PREPARE", "EXECUTE", "CALL", "COPY")


class Unsure(Exception):
    """The text can be read in more than one way."""


@record(frozen=True)
class Statement:
    """One statement: its words (in upper case, with "(" and ")") and its text without comments, for people."""

    words: tuple[str, ...]
    text: str


def split_statements(text: str) -> list[Statement]:
    """Return the statements of a text. Raises Unsure."""
    if len(text) > LARGEST or "\0" in text:
        raise Unsure("it is too long")
    statements: list[Statement] = []
    words: list[str] = []
    plain: list[str] = []
    at = named = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            plain.append(" ")
            at += 1
        elif text.startswith("--", at):
            if text[at + 2 : at + 3] not in ("", " ", "\t", "\n", "\r", "-"):
                raise Unsure("`--` begins a comment in some databases only")
            at = find_line_end(text, at)
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0 or text[at + 2 : at + 3] in ("!", "+") or "/*" in text[at + 2 : end]:
                raise Unsure("a comment that some databases run or nest")
            at = end + 2
            plain.append(" ")
        elif char in "'\"`":
            end = find_quote_end(text, at)
            words.append("'")
            plain.append(text[at:end])
            at = end
        elif char == "$" and (end := find_dollar_end(text, at)):
            words.append("'")
            plain.append(text[at:end])
            at = end
        elif char.isalpha() or char == "_":
            end = at
            while end < len(text) and (text[end].isalnum() or text[end] in "_$"):
                end += 1
            words.append(text[at:end].upper())
            plain.append(text[at:end])
            at = end
        elif char == "[":
            named = named if at < named else find_bracket_end(text, at)
            words.append("?")
            plain.append(char)
            at += 1
        elif char == ";":
            statements.append(Statement(tuple(words), "".join(plain)))
            words, plain = [], []
            at += 1
        elif char in "\\#" or (char == "." and not words and not "".join(plain).strip()):
            raise Unsure("a command of a client, or a comment of one database only")
        else:
            words.append(char if char in "()" else "?")
            plain.append(char)
            at += 1
    statements.append(Statement(tuple(words), "".join(plain)))
    return [statement for statement in statements if statement.words]


def find_line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def find_quote_end(text: str, at: int) -> int:
    """Return the end of a quoted piece; a doubled quote continues it. Raises Unsure for a backslash before a quote,
    which only some databases treat as part of the text, and for an unclosed quote."""
    quote, here = text[at], at + 1
    while True:
        end = text.find(quote, here)
        if end < 0:
            raise Unsure("a quote is not closed")
        if text[end - 1] == "\\" and end > at + 1:
            raise Unsure("a backslash before a quote")
        if text[end + 1 : end + 2] != quote:
            return end + 1
        here = end + 2


def find_bracket_end(text: str, at: int) -> int:
    """Return the end of the name that `[` begins, as some databases quote; the end of the text if it is unclosed.
    Raises Unsure if it contains something that others read: a quote, a comment, the end of a statement."""
    end = text.find("]", at)
    while end >= 0 and text[end + 1 : end + 2] == "]":
        end = text.find("]", end + 2)
    inside = text[at + 1 : end] if end >= 0 else ""
    if any(inside.count(quote) % 2 for quote in "'\"`") or any(sign in inside for sign in (";", "--", "/*")):
        raise Unsure("a bracket, in which some databases read a name")
    return end if end >= 0 else len(text)


def find_dollar_end(text: str, at: int) -> int:
    """Return the end of a text in dollar quotes (`$$`, `$tag$`), 0 if none begins. Raises Unsure."""
    end = text.find("$", at + 1)
    tag = text[at : end + 1] if end > 0 else ""
    if not tag or not all(char.isalnum() or char == "_" for char in tag[1:-1]) or tag[1:2].isdigit():
        return 0
    close = text.find(tag, end + 1)
    if close < 0:
        raise Unsure("a dollar quote is not closed")
    return close + len(tag)


def list_kinds(statement: Statement) -> set[str]:
    """Return what a statement does: for WITH, the statement after it; also every change inside a WITH or parentheses;
    INTO if a SELECT makes a table or a file; EXPLAIN ANALYZE does what it explains. Raises Unsure."""
    return find_effects(statement.words)


def find_effects(words: tuple[str, ...]) -> set[str]:
    """Return the kinds of the statement that these words form or begin."""
    first = words[0]
    if (first in BLOCKS and first != "COPY") or has_body(words):
        raise Unsure("a body of statements")
    if first in EXPLAINS:
        return find_explained(words)
    begun = [at + 1 for at, word in enumerate(words) if word == "("]
    found = {words[at] for at in begun if words[at] in CHANGES and words[at + 1] not in NO_STATEMENT}
    for at in begun:
        found |= {word for word in find_main_kinds(words, at) if word in CHANGES} if words[at] == "WITH" else set()
    if first in READS and any(
        word == "INTO" and not CHANGES_INTO.intersection(words[max(at - 3, 0) : at]) for at, word in enumerate(words)
    ):
        found.add("INTO")
    start = next((at for at, word in enumerate(words) if word != "("), 0)
    return found | (find_main_kinds(words, start) if words[start] == "WITH" else {words[start]})


def find_explained(words: tuple[str, ...]) -> set[str]:
    """Return what EXPLAIN runs. In MariaDB, ANALYZE alone also runs it."""
    told = words[0] if words[0] == "ANALYZE" else "EXPLAIN"
    at = 1
    if words[1:2] == ("(",):
        at = find_closing(words, 1)
    while at < len(words) and words[at] not in (*DML, "WITH", "(", "CREATE", "REFRESH", "EXECUTE", "DECLARE", "COPY"):
        at += 1
    head = words[:at]
    asked = [head[place + 1 : place + 2] for place, word in enumerate(head) if word in ("ANALYZE", "ANALYSE")]
    planned = all(value in (("OFF",), ("FALSE",)) for value in asked)  # also where none is there
    if at == len(words) or head[:2] == ("ANALYZE", "TABLE") or planned:
        return {told}
    return {told, *(find_effects(words[at:]) - set(READS))}


def find_main_kinds(words: tuple[str, ...], start: int) -> set[str]:
    """Return the statement after the names of the WITH at `start`; if that is uncertain, every candidate. Raises
    Unsure."""
    at = start + (2 if words[start + 1 : start + 2] == ("RECURSIVE",) else 1)
    while at < len(words):
        at += 1  # the name
        if words[at : at + 1] == ("(",):
            at = find_closing(words, at)
        if words[at : at + 1] == ("AS",):
            at += 1
            while words[at : at + 1] in (("NOT",), ("MATERIALIZED",)):
                at += 1
            if words[at : at + 1] != ("(",):
                break
            at = find_closing(words, at)
        if words[at : at + 1] != ("?",):  # a comma, before the next name
            break
        at += 1
    if at < len(words) and words[at - 1] == ")" and words[at] in (*DML, "("):
        while words[at] == "(":
            at += 1
        return {words[at] if words[at] in DML else "SELECT"}  # a WITH inside is read separately
    found = {word for word in list_outer_words(words[start : find_closing(words, start, 1)]) if word in DML}
    if not found:
        raise Unsure("a WITH without a statement")
    return found


def find_closing(words: tuple[str, ...], at: int, depth: int = 0) -> int:
    """Return the position after the parenthesis that closes the one at `at`, or with a depth of 1 the one around it.
    The words are balanced."""
    for place in range(at, len(words)):
        depth += {"(": 1, ")": -1}.get(words[place], 0)
        if depth == 0:
            return place + 1
    return len(words)


def find_sweeping(text: str) -> list[str]:
    """Return the statements that certainly change or delete every row of a table, as written. None if that is
    uncertain: a transaction that is rolled back, a body of statements, a text on which dialects disagree."""
    try:
        statements = split_statements(text)
        begun = [
            statement for statement in statements if statement.words[0] in BLOCKS or has_body(statement.words)
        ]
        if begun:
            return []
        undone = max((at for at, statement in enumerate(statements) if statement.words[0] in UNDOES), default=-1)
        found: list[str] = []
        fresh: set[str] = set()  # tables that the text itself creates: they had no rows before
        for at, statement in enumerate(statements):
            require_balanced(statement.words)
            fresh |= find_created_tables(statement.words)
            bare = [part for part in split_parts(statement.words) if is_bare(part)]
            if at > undone and any(find_table(part) not in fresh for part in bare):
                found.append(" ".join(statement.text.split()))
        return found
    except Unsure:
        return []


def has_body(words: tuple[str, ...]) -> bool:
    """Whether a body of statements follows."""
    if words[0] in ("CREATE", "ALTER") and any(word in BODIES for word in words):
        return True
    begun = ("TRANSACTION", "WORK", "IMMEDIATE", "EXCLUSIVE", "DEFERRED", "TRAN", "ISOLATION", "READ")
    return words[0] == "BEGIN" and words[1:2] != () and words[1] not in begun


def split_parts(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the parts of a statement that may sweep: itself, the parts of a WITH, what EXPLAIN ANALYZE explains."""
    if words[:2] in (("EXPLAIN", "ANALYZE"), ("EXPLAIN", "ANALYSE")):
        words = words[3 if words[2:3] == ("VERBOSE",) else 2 :]
    if not words:
        return []
    if words[0] in SWEEPS:
        return [words]
    if words[0] != "WITH":
        return []
    level = list_outer_words(words)
    start = next((number for number, word in enumerate(level) if word in DML), len(level))
    main = level[start:]
    inner = [part for part in list_groups(words) if part[:1] and part[0] in SWEEPS]
    return [*([main] if main[:1] and main[0] in SWEEPS else []), *inner]


def is_bare(words: tuple[str, ...]) -> bool:
    """Whether a DELETE or UPDATE has nothing that limits its rows."""
    level = list_outer_words(tuple(word for at, word in enumerate(words) if at > 2 or word not in HASTE))
    if words[0] == "DELETE":
        whole = level[1:2] == ("FROM",) and len(level) > 2
    else:  # UPDATE table [AS alias] SET column =
        at = level.index("SET") if "SET" in level[2:9] else 0
        several = "SET (" in " ".join(words) and level[at + 1 : at + 2] == ("?",)  # SET (a, b) = (1, 2)
        whole = at > 1 and (several or "?" in level[at + 2 : at + 5])
    return whole and not any(word in BOUNDED for word in level)


def find_created_tables(words: tuple[str, ...]) -> set[str]:
    """Return the table that a CREATE certainly creates, if its name has no quotes or schema."""
    plain = tuple(word for word in words[:5] if word not in ("TEMP", "TEMPORARY", "GLOBAL", "LOCAL", "UNLOGGED"))
    named = plain[:2] == ("CREATE", "TABLE") and plain[2:3] not in (("IF",), ("'",)) and plain[3:4] != ("?",)
    return set(plain[2:3]) if named else set()


def find_table(words: tuple[str, ...]) -> str:
    """Return the table of a DELETE or UPDATE, "" if its name has quotes or a schema."""
    names = [word for word in words[1:5] if word not in (*HASTE, "FROM", "ONLY")]
    return names[0] if names and names[0] != "'" and names[1:2] != ["?"] else ""


def list_outer_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words outside of parentheses."""
    depth, found = 0, []
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth == 0 and word != ")":
            found.append(word)
    return tuple(found)


def list_groups(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the content of each pair of parentheses, nested ones included."""
    starts: list[int] = []
    found = []
    for number, word in enumerate(words):
        if word == "(":
            starts.append(number + 1)
        elif word == ")" and starts:
            found.append(words[starts.pop() : number])
    return found


def require_balanced(words: tuple[str, ...]) -> None:
    """Raise Unsure for unbalanced parentheses, or too many levels."""
    depth = 0
    for word in words:
        depth += {"(": 1, ")": -1}.get(word, 0)
        if depth < 0:
            raise Unsure("a parenthesis closes nothing")
        if depth > DEEPEST:
            raise Unsure("it is nested too deeply")
    if depth:
        raise Unsure("a parenthesis is not closed")
