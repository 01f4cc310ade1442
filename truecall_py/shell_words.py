"""The characters of a shell command (bash, sh) as words and operators: quotes, expansions, here-documents.

The lower half of `shell`, which knows the grammar. It must never guess a word: one that the shell would
expand is unknown, and text whose end is not certain raises `UnsureError`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# How far the rest of the line can still be trusted: as written, only if all ended well, not at all.
CALM, WARY, LOST = 0, 1, 2

_METACHARACTERS = frozenset(" \t\n\\'\"$`;&|<>()")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_ESCAPES |= {"E": "\x1b", "\\": "\\", "'": "'", '"': '"', "?": "?"}


class UnsureError(Exception):
    """The command cannot be read with certainty. Never leaves `shell`."""


def unsure() -> NoReturn:
    raise UnsureError


class Simple:
    """One simple command. `None` stands for a word, value or target that cannot be known."""

    __slots__ = (
        "argv", "assignments", "certain", "chain", "detached", "inner", "own_risk", "piped", "redirections",
        "risk",
    )  # fmt: skip

    def __init__(self) -> None:
        self.argv: list[str | None] = []
        self.assignments: list[tuple[str, str | None]] = []
        self.redirections: list[tuple[str, str | None]] = []  # ("2>", "log"), ("<<", text of the document)
        self.certain = "no"
        self.detached = False  # its place in the line does not say when it runs: function bodies, `&`
        self.chain = -1  # the number of the list, where only `&&` joins it
        self.piped = False
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
        raise NotImplementedError

    def newline(self, frame: Frame) -> None:
        raise NotImplementedError

    def operator(self, frame: Frame, at: int) -> int:
        raise NotImplementedError

    def lost(self) -> None:
        raise NotImplementedError

    def read(self) -> None:
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
            unsure()
        self.end_word(self.frames[0])

    def in_command(self, at: int) -> int:
        text, frame, char = self.text, self.frames[-1], self.text[at]
        if char not in _METACHARACTERS:
            if char == "#" and frame.word is None:
                if frame.state == "condition":
                    unsure()
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
                unsure()
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
        char = self.text[at]
        if char == "}":
            self.modes.pop()
        elif char == "\\":
            return at + 2
        elif char == "'":
            if mode != "braces":  # here a quote is a quote for some operators and plain text for others
                unsure()
            return self.find("'", at + 1) + 1
        elif char == '"':
            self.modes.append("quotes")
        elif char == "$":
            return self.dollar(at, quoted=mode != "braces")
        elif char == "`":
            return self.backticks(at)
        elif char in "<>\n":
            unsure()
        return at + 1

    def find(self, what: str, at: int, otherwise: int = -1) -> int:
        end = self.text.find(what, at)
        if end < 0:
            if otherwise < 0:
                unsure()
            return otherwise
        return end

    def add(self, text: str, quoted: bool = False, unknown: bool = False, risk: int = CALM) -> None:
        frame = self.frames[-1]
        if self.pending and "\n" in text:  # where the here-document starts is then a matter of version
            unsure()
        word = frame.word
        if word is None:
            word = frame.word = Word()
        word.text.append(text)
        word.shape.append("\0" if quoted or unknown else text)
        word.unknown = word.unknown or unknown
        word.risk = max(word.risk, risk)

    def dollar(self, at: int, quoted: bool) -> int:
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "(":
            if text.startswith("((", at + 1):
                self.add("", unknown=True, risk=LOST)  # an error in arithmetic ends the shell
                return self.arithmetic(at + 3)
            self.add("", quoted=True)
            self.push()
            return at + 2
        if following == "{":
            end, risk = self.parameter(at + 2)
            self.add("", unknown=True, risk=risk)
            self.modes.append("quoted braces" if quoted else "braces")
            return end
        if following == "[":
            unsure()
        if following == "'" and not quoted:
            return self.ansi(at + 2)
        if following == '"' and not quoted:
            self.add("", unknown=True)  # translated
            return at + 1
        if following.isascii() and (following.isalpha() or following == "_"):
            end = at + 2
            while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
                end += 1
            self.add("", unknown=True)
            return end
        if following and following in "0123456789@*#?$!-":
            self.add("", unknown=True)
            return at + 2
        self.add("$", quoted=quoted)
        return at + 1

    def parameter(self, at: int) -> tuple[int, int]:
        """Past the name in `${name...`; what may go wrong with the operator that follows."""
        text, end, risk = self.text, at, CALM
        if text[at : at + 1] in ("!", "#") and text[at + 1 : at + 2] not in ("}", ""):
            risk = LOST if text[at] == "!" else CALM
            end = at + 1
        start = end
        while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
            end += 1
        if end == start:
            if text[end : end + 1] not in tuple("@*#?$!-"):
                unsure()
            end += 1
        if text[end : end + 3] in ("[@]", "[*]"):
            end += 3
        following = text[end : end + 1]
        if following not in tuple("}:#%/^,+-=?"):
            unsure()
        if following == "?" or text.startswith(":?", end):
            risk = max(risk, WARY)
        elif following == ":" and text[end + 1 : end + 2] not in tuple("-+="):
            risk = LOST  # offsets are arithmetic
        return end, risk

    def arithmetic(self, at: int) -> int:
        depth = 0
        for end in range(at, len(self.text)):
            char = self.text[end]
            if char in "'\"`\\\n" or (char == "$" and self.text.startswith("(", end + 1)):
                break
            if char == "(":
                depth += 1
            elif char == ")":
                if not depth:
                    if self.text.startswith("))", end):
                        return end + 2
                    break
                depth -= 1
        unsure()

    def ansi(self, at: int) -> int:
        text, out, unknown = self.text, [], False
        while True:
            char = text[at : at + 1]
            if not char:
                unsure()
            at += 1
            if char == "'":
                break
            if char != "\\":
                out.append(char)
                continue
            escape = text[at : at + 1]
            at += 1
            if escape in _ESCAPES:
                out.append(_ESCAPES[escape])
                continue
            digits, base = ("01234567", 8) if escape in tuple("01234567") else ("0123456789abcdefABCDEF", 16)
            width = {"x": 2, "u": 4, "U": 8}.get(escape, 3 if base == 8 else 0)
            start = at - 1 if base == 8 else at
            end = start
            while end < start + width and end < len(text) and text[end] in digits:
                end += 1
            code = int(text[start:end], base) if end > start else 0
            if 0 < code < 128:
                out.append(chr(code))
            else:
                unknown = True
            at = end if width else at
        self.add("".join(out), quoted=True, unknown=unknown)
        return at

    def backticks(self, at: int) -> int:
        end = at + 1
        while True:
            while self.text[end : end + 1] not in ("`", "\\", ""):
                end += 1
            if end >= len(self.text):
                unsure()
            if self.text[end] == "`":
                break
            end += 2
        self.add("", unknown=True)
        if self.pending and "\n" in self.text[at:end]:
            unsure()
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
        self.frames.append(Frame(len(self.simples)))
        self.modes.append("command")

    def pop(self) -> None:
        frame = self.frames.pop()
        self.modes.pop()
        if frame.pending:
            unsure()
        single = len(self.simples) - frame.first == 1
        if self.modes[-1] == "quotes" and single and "cat" not in self.functions:
            simple = self.simples[-1]  # "$(cat <<'EOF' ...)", the usual way to pass a long text, is known
            if simple.argv == ["cat"] and len(simple.redirections) == 1 and not simple.assignments:
                operator, body = simple.redirections[0]
                if operator in ("<<", "<<-") and body is not None:
                    self.add(body.rstrip("\n"), quoted=True)
                    return
        self.add("", unknown=True)

    def blanks(self, at: int) -> int:
        while self.text[at : at + 1] in (" ", "\t"):
            at += 1
        return at

    def end_word(self, frame: Frame) -> None:
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
        text = self.text
        for simple, index, delimiter, quoted, strip in frame.pending:
            lines: list[str] = []
            held = ""
            while True:
                if at >= len(text):
                    unsure()
                end = self.find("\n", at, len(text))
                line = text[at:end]
                at = end + 1
                if strip:
                    line = line.lstrip("\t")
                line = held + line
                held = ""
                if not quoted and (len(line) - len(line.rstrip("\\"))) % 2:
                    if len(line) > 10_000:
                        unsure()
                    held = line[:-1]
                    continue
                if line == delimiter:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
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
