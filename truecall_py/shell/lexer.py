"""The characters of a shell command (bash, sh) as words and operators: quotes, expansions, here-documents.

The lower half of `parser.py`. It must never guess a word: one that the shell would
expand is unknown, and text whose end is not certain raises `UnsureError`.
"""

from __future__ import annotations

from truecall_py.shell.tokens import (
    CALM,
    LOST,
    WARY,
    find_backtick,
    give_up,
    read_ansi_string,
    read_document,
    read_parameter,
    skip_arithmetic,
    skip_name,
)

_METACHARACTERS = frozenset(" \t\n\\'\"$`;&|<>()")


class Simple:
    """One simple command. `None` stands for a word, value or target that cannot be known."""

    __slots__ = (
        "argv", "assignments", "certain", "chain", "decides", "detached", "inner", "own_risk", "piped",
        "plain", "redirections", "risk", "since",
    )  # fmt: skip

    def __init__(self) -> None:
        self.argv: list[str | None] = []
        self.assignments: list[tuple[str, str | None]] = []
        self.redirections: list[tuple[str, str | None]] = []  # ("2>", "log"), ("<<", text of the document)
        self.certain = "no"
        self.detached = False  # its place in the line does not say when it runs: function bodies, `&`
        self.decides = False  # if the whole command ended with 0, so did this one, where it was run
        self.since = -1  # in a pipe: from this place in the list on, commands run beside it
        self.chain = -1  # the number of the list, where only `&&` joins it
        self.piped = False
        self.plain = False  # outermost, in `( )`, in `{ }`, behind `!` or before `&`: it is run as its line is
        self.inner = False  # in `$( )`, which is a process of its own
        self.own_risk = CALM  # what its own words may do to it
        self.risk = CALM  # together with everything before


class Word:
    """A word while it is read."""

    __slots__ = ("risk", "shape", "text", "unknown")

    def __init__(self) -> None:
        self.text: list[str] = []
        self.shape: list[str] = []  # the text with every quoted or expanded part as one NUL
        self.unknown = False
        self.risk = CALM


class Frame:
    """A list of commands with its own end: the whole text, or the inside of `$( )`, `<( )`."""

    def __init__(self, first: int) -> None:
        self.compounds: list[str] = []
        self.state = "start"
        self.need = False  # a command must follow
        self.word: Word | None = None
        self.simple: Simple | None = None
        self.redirect: str | None = None
        self.pending: list[tuple[Simple, int, str, bool, bool]] = []
        self.timed = False
        self.piped = False  # a `|` is before it
        self.want = False  # `case`: a pattern must follow
        self.terms: list[str] = []
        self.first = first


class Reader:
    """Walks over the text once; `frames` and `modes` are its stack, so that depth costs no recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.simples: list[Simple] = []
        self.frames = [Frame(0)]
        self.modes = ["command"]  # or "quotes", "braces", "quoted braces"
        self.pending = 0
        self.functions: set[str] = set()
        self.open_functions = 0

    def take(self, frame: Frame, text: str | None, shape: str, risk: int) -> None:
        """Handle a finished word; `text` is None where it cannot be known."""
        raise NotImplementedError

    def newline(self, frame: Frame) -> None:
        """Handle a newline between commands."""
        raise NotImplementedError

    def operator(self, frame: Frame, at: int) -> int:
        """Handle the operator at `at`; return the place after it."""
        raise NotImplementedError

    def lost(self) -> None:
        """Trust nothing that follows on the line."""
        raise NotImplementedError

    def read(self) -> None:
        """Read the whole text. Raises UnsureError where its meaning is not certain."""
        at, end = 0, len(self.text)
        while at < end:
            mode = self.modes[-1]
            if mode == "command":
                at = self.in_command(at)
            elif mode == "quotes":
                at = self.in_quotes(at)
            else:
                at = self.in_braces(at, mode)
        if len(self.modes) > 1:
            give_up()
        self.end_word(self.frames[0])

    def in_command(self, at: int) -> int:
        """Read on from `at`, outside quotes; return the place after what was read."""
        text, frame, char = self.text, self.frames[-1], self.text[at]
        if char not in _METACHARACTERS:
            if char == "#" and frame.word is None:
                if frame.state == "condition":
                    give_up()
                return self.find("\n", at, len(text))
            end, stop = at + 1, len(text)
            while end < stop and text[end] not in _METACHARACTERS:
                end += 1
            self.add(text[at:end])
            return end
        if char in " \t":
            self.end_word(frame)
            return at + 1
        if char == "\\":
            if at + 1 == len(text):
                give_up()
            if text[at + 1] != "\n":
                self.add(text[at + 1], quoted=True)
            return at + 2
        if char == "'":
            end = self.find("'", at + 1)
            self.add(text[at + 1 : end], quoted=True)
            return end + 1
        if char == '"':
            self.add("", quoted=True)
            self.modes.append("quotes")
            return at + 1
        if char == "$":
            return self.dollar(at, quoted=False)
        if char == "`":
            return self.backticks(at)
        if char == "\n":
            self.end_word(frame)
            self.newline(frame)
            return self.documents(frame, at + 1)
        return self.operator(frame, at)

    def in_quotes(self, at: int) -> int:
        """The same within double quotes."""
        text, char = self.text, self.text[at]
        if char == '"':
            self.modes.pop()
            return at + 1
        if char == "$":
            return self.dollar(at, quoted=True)
        if char == "`":
            return self.backticks(at)
        if char == "\\":
            following = text[at + 1 : at + 2]
            if following != "\n":
                self.add(following if following and following in '$`"\\' else char + following, quoted=True)
            return at + 2
        end, stop = at + 1, len(text)
        while end < stop and text[end] not in '"$`\\':
            end += 1
        self.add(text[at:end], quoted=True)
        return end

    def in_braces(self, at: int, mode: str) -> int:
        """The same within `${...}`; `mode` says whether double quotes surround it."""
        char = self.text[at]
        if char == "}":
            self.modes.pop()
        elif char == "\\":
            return at + 2
        elif char == "'":
            if mode != "braces":  # here a quote is a quote for some operators and plain text for others
                give_up()
            return self.find("'", at + 1) + 1
        elif char == '"':
            self.modes.append("quotes")
        elif char == "$":
            return self.dollar(at, quoted=mode != "braces")
        elif char == "`":
            return self.backticks(at)
        elif char in "<>\n":
            give_up()
        return at + 1

    def find(self, what: str, at: int, otherwise: int = -1) -> int:
        """Return the next place of `what`; if there is none, `otherwise`, or raise UnsureError."""
        end = self.text.find(what, at)
        if end < 0:
            if otherwise < 0:
                give_up()
            return otherwise
        return end

    def add(self, text: str, quoted: bool = False, unknown: bool = False, risk: int = CALM) -> None:
        """Add a piece to the current word, which starts here if there is none."""
        frame = self.frames[-1]
        if self.pending and "\n" in text:  # where the here-document starts is then a matter of version
            give_up()
        word = frame.word
        if word is None:
            word = frame.word = Word()
        word.text.append(text)
        word.shape.append("\0" if quoted or unknown else text)
        word.unknown = word.unknown or unknown
        word.risk = max(word.risk, risk)

    def dollar(self, at: int, quoted: bool) -> int:
        """Read the expansion that starts with the `$` at `at`; return the place after its start."""
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "(":
            if text.startswith("((", at + 1):
                self.add("", unknown=True, risk=LOST)  # an error in arithmetic ends the shell
                return skip_arithmetic(text, at + 3)
            self.add("", quoted=True)
            self.push()
            return at + 2
        if following == "{":
            end, risk = read_parameter(text, at + 2)
            self.add("", unknown=True, risk=risk)
            self.modes.append("quoted braces" if quoted else "braces")
            return end
        if following == "[":
            give_up()
        if following == "'" and not quoted:
            end, value = read_ansi_string(text, at + 2)
            self.add(value or "", quoted=True, unknown=value is None)
            return end
        if following == '"' and not quoted:
            self.add("", unknown=True)  # translated
            return at + 1
        if following.isascii() and (following.isalpha() or following == "_"):
            self.add("", unknown=True)
            return skip_name(text, at + 2)
        if following and following in "0123456789@*#?$!-":
            self.add("", unknown=True)
            return at + 2
        self.add("$", quoted=quoted)
        return at + 1

    def backticks(self, at: int) -> int:
        """Skip a command in backticks, which is not parsed; return the place after it."""
        end = find_backtick(self.text, at)
        if self.pending and "\n" in self.text[at:end]:
            give_up()
        self.add("", unknown=True)
        self.opaque()
        return end + 1

    def opaque(self) -> None:
        """Something was run here that is not looked into."""
        simple = Simple()
        simple.argv.append(None)
        simple.inner = True
        simple.detached = self.open_functions > 0
        self.simples.append(simple)

    def push(self) -> None:
        """Start the command list of a substitution."""
        self.frames.append(Frame(len(self.simples)))
        self.modes.append("command")

    def pop(self) -> None:
        """End a substitution. Its output is known for `$(cat <<'EOF' ...)` only."""
        frame = self.frames.pop()
        self.modes.pop()
        if frame.pending:
            give_up()
        single = len(self.simples) - frame.first == 1
        if self.modes[-1] == "quotes" and single and "cat" not in self.functions:
            simple = self.simples[-1]  # "$(cat <<'EOF' ...)", the usual way to pass a long text, is known
            if simple.argv == ["cat"] and len(simple.redirections) == 1 and not simple.assignments:
                operator, body = simple.redirections[0]
                if operator in ("<<", "<<-") and body is not None:
                    self.add(body.rstrip("\n"), quoted=True)
                    return
        self.add("", unknown=True)

    def end_word(self, frame: Frame) -> None:
        """Finish the current word: decide whether its text is known, and pass it to `take`."""
        word = frame.word
        if word is None:
            return
        frame.word = None
        text, shape = "".join(word.text), "".join(word.shape)
        unknown, risk = word.unknown, word.risk
        opened = shape.find("{")
        if opened >= 0:
            inner = shape[opened : max(shape.rfind("}"), opened)]
            unknown = unknown or "," in inner or ".." in inner
        if shape not in ("[", "[[") and ("*" in shape or "?" in shape or "[" in shape):
            unknown, risk = True, max(risk, WARY)  # zsh ends the whole command where a glob finds nothing
        if shape.startswith("=") and len(shape) > 1:  # so it does at `=name`
            risk = max(risk, WARY)
        if text.startswith("~") and shape != "~" and not shape.startswith("~/"):
            unknown, risk = True, max(risk, WARY)
        if "=~" in shape[1:] or ":~" in shape:
            unknown = True
        self.take(frame, None if unknown else text, shape, risk)

    def documents(self, frame: Frame, at: int) -> int:
        """Read the here-documents that start at `at`; return the place after them."""
        for simple, index, delimiter, quoted, strip in frame.pending:
            at, body = read_document(self.text, at, delimiter, quoted, strip)
            if not quoted:
                live = body.replace("\\\\", "").replace("\\$", "").replace("\\`", "")
                if "`" in live or "$(" in live:
                    self.opaque()
                if "$((" in live or "$[" in live or ("${" in live and any(c in live for c in "?:!")):
                    simple.own_risk = simple.risk = LOST
                    self.lost()
            known = quoted or not ("$" in body or "`" in body or "\\" in body)
            simple.redirections[index] = (simple.redirections[index][0], body if known else None)
        self.pending -= len(frame.pending)
        frame.pending = []
        return at
