"""The grammar of a shell command (bash, sh): words and operators become simple commands, nested ones too.

A machine with states, kept in `Frame`, so that depth costs no recursion. It must raise `UnsureError` for
what the shell would refuse: of a line with a syntax error nothing is run.
"""

from __future__ import annotations

from truecall_py.shell.control_flow import NO, Course
from truecall_py.shell.lexer import Frame, Reader, Simple
from truecall_py.shell.tokens import (
    CALM,
    CLOSERS,
    CLOSING,
    LOST,
    OPENERS,
    check_condition,
    find_operator,
    give_up,
    is_descriptor,
    skip_arithmetic,
    skip_blanks,
)

_MOST, _DEEP = 1000, 50  # commands in one line, groups in each other that are looked through

# Where a newline is only white space.
_OPEN_STATES = frozenset(("start", "body", "for in", "for do", "case in", "case pattern", "function parens"))


class Parser(Reader):
    """Reads one command line. The states of a Frame say what may come next."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.course = Course()
        self.alternates: set[int] = set()  # the depths at which a `||` is before what follows
        self.list_start = 0
        self.pipe_start = 0

    def parse(self) -> list[Simple]:
        """Return the simple commands of the text. Raises UnsureError."""
        self.read()
        frame = self.frames[0]
        if frame.state in ("args", "after"):
            self.end_command(frame, ";")
        if frame.state != "start" or frame.need or frame.compounds or frame.pending or frame.redirect:
            give_up()
        self.course.settle(last=True)
        for simple in self.simples:
            if simple.argv and simple.argv[0] in self.functions:
                simple.certain, simple.plain = NO, False
        return self.simples

    def lost(self) -> None:
        self.course.risk = LOST

    # -- words -----------------------------------------------------------------------------------------

    def take(self, frame: Frame, text: str | None, shape: str, risk: int) -> None:
        """Handle a finished word according to the state: redirection target, argument, keyword or clause."""
        plain = text if text == shape else None
        state = frame.state
        if frame.redirect is not None:
            operator, frame.redirect = frame.redirect, None
            simple = frame.simple or give_up()
            simple.own_risk = max(simple.own_risk, risk)
            if operator.lstrip("0123456789") in ("<<", "<<-"):
                if text is None or "\n" in text:
                    give_up()
                strip = operator.endswith("-")
                frame.pending.append((simple, len(simple.redirections), text, "\0" in shape, strip))
                self.pending += 1
                text = None
            simple.redirections.append((operator, text))
        elif state == "start" or state == "body":
            self.begin(frame, text, plain, shape, risk)
        elif state == "args":
            self.argument(frame, text, shape, risk)
        elif state == "after":
            if plain not in CLOSERS:
                give_up()
            self.end_command(frame, ";")
            self.keyword(frame, plain)
        else:
            if len(self.frames) == 1:
                self.course.risk = max(self.course.risk, risk)
            self.clause(frame, state, text, plain)

    def begin(self, frame: Frame, text: str | None, plain: str | None, shape: str, risk: int) -> None:
        """Handle the first word of a command: a keyword, or the start of a simple command."""
        if frame.timed and plain in ("-p", "--"):
            return
        if frame.state == "body":
            if plain not in OPENERS or plain == "function":
                give_up()
            frame.compounds.append("function")
            self.open_functions += 1
            frame.state = "start"
        if plain == "!" or plain == "time":
            if frame.piped or len(self.frames) > 1:  # a keyword here in some versions of bash only
                give_up()
            frame.need = True
            frame.timed = frame.timed or plain == "time"
            if plain == "!" and len(self.frames) == 1 and not frame.compounds:
                self.course.pipelines[-1].negated = True
        elif plain in OPENERS or plain in CLOSERS:
            self.keyword(frame, plain)
        elif plain in ("in", "]]", "coproc"):
            give_up()
        else:
            frame.state = "args"
            frame.simple = Simple()
            self.argument(frame, text, shape, risk)

    def argument(self, frame: Frame, text: str | None, shape: str, risk: int) -> None:
        """Add a word to the simple command: an assignment before its name, else an argument."""
        simple = frame.simple or give_up()
        simple.own_risk = max(simple.own_risk, risk)
        if not simple.argv:
            name, equals, _ = shape.partition("=")
            name = name.removesuffix("+")
            if equals and name.isascii() and name.isidentifier():
                value = None if text is None or shape.startswith("+=", len(name)) else text[len(name) + 1 :]
                simple.assignments.append((name, value))
                return
            if "[" in shape and shape.partition("[")[0].isidentifier():
                give_up()  # the subscript of an array may hold blanks
        simple.argv.append(text)

    def keyword(self, frame: Frame, plain: str | None) -> None:
        """Open or close a compound command."""
        compounds = frame.compounds
        if plain in CLOSERS:
            needed, left = CLOSING[plain or ""]
            if frame.need or not compounds or compounds[-1] not in needed:
                give_up()
            if left is None:
                self.close(frame)
            else:
                compounds[-1] = left
                frame.state, frame.need = "start", True
            return
        state = {"for": "for name", "select": "for name", "case": "case word", "[[": "condition"}
        frame.state = state.get(plain or "", "function name" if plain == "function" else "start")
        frame.need = frame.state == "start"
        frame.timed = False
        frame.terms = []
        if plain in ("while", "until", "for", "select"):
            compounds.append("while")
        elif plain not in ("function", "[["):
            compounds.append(plain or "")

    def close(self, frame: Frame) -> None:
        """End the innermost compound command, and the function whose body it is."""
        frame.compounds.pop()
        if frame.compounds and frame.compounds[-1] == "function":
            frame.compounds.pop()
            self.open_functions -= 1
        frame.state, frame.need = "after", False

    def clause(self, frame: Frame, state: str, text: str | None, plain: str | None) -> None:
        """A word between `for`, `case`, `function`, `[[` and the commands they lead to."""
        if state == "for name" and plain and plain.isascii() and plain.isidentifier():
            frame.state = "for in"
        elif state == "for in" and plain == "in":
            frame.state = "for words"
        elif state in ("for in", "for do") and plain == "do":
            frame.state = "start"
            self.keyword(frame, plain)
        elif state == "case word":
            frame.state = "case in"
        elif state == "case in" and plain == "in":
            frame.state, frame.want = "case pattern", True
            frame.terms = []
        elif state == "case pattern" and plain == "esac" and not frame.terms:
            frame.need = False
            self.keyword(frame, plain)
        elif state == "case pattern" and frame.want:
            frame.want = False
            frame.terms.append("pattern")
        elif state == "function name" and plain:
            self.functions.add(plain)
            frame.state = "function parens"
        elif state == "function parens":
            frame.state = "body"
            self.begin(frame, text, plain, "", CALM)
        elif state == "condition" and plain == "]]":
            check_condition(frame.terms)
            frame.compounds.append("[[")
            self.close(frame)
        elif state == "condition":
            frame.terms.append(plain or "\0")
        elif state != "for words":
            give_up()

    # -- operators -------------------------------------------------------------------------------------

    def operator(self, frame: Frame, at: int) -> int:
        """Handle the operator at `at`; return the place after it."""
        text = self.text
        if text[at] in "<>" and text.startswith("(", at + 1):
            if frame.word is not None or frame.state == "condition" or text.startswith("((", at + 1):
                give_up()
            self.add("", unknown=True, risk=LOST)  # what it runs does so beside the command
            self.push()
            return at + 2
        operator = find_operator(text, at)
        end = at + len(operator)
        if operator[0] in "<>" or operator in ("&>", "&>>"):
            self.redirect(frame, operator)
            return end
        self.end_word(frame)
        if frame.redirect is not None:
            give_up()
        if operator == "(":
            return self.parenthesis(frame, at)
        if operator == ")":
            self.closing(frame)
        elif frame.state == "condition":
            if operator not in ("&&", "||"):
                give_up()
            check_condition(frame.terms)
            frame.terms = []
        elif operator == "|" and frame.state == "case pattern" and frame.terms and not frame.want:
            frame.want = True
        elif operator in (";;", ";&", ";;&"):
            self.end_command(frame, ";", optional=True)
            if frame.need or not frame.compounds or frame.compounds[-1] != "case":
                give_up()
            frame.state, frame.want, frame.terms = "case pattern", True, []
        elif operator == ";" and frame.state in ("for in", "for words"):
            frame.state = "for do"
        else:
            self.end_command(frame, "|" if operator == "|&" else operator)
        return end

    def redirect(self, frame: Frame, operator: str) -> None:
        """Start a redirection; a file descriptor just before the operator belongs to it."""
        word = frame.word
        prefix = ""
        if word is not None and operator[0] != "&":
            shape = "".join(word.shape)
            if is_descriptor(shape):
                prefix, frame.word = shape, None
        self.end_word(frame)
        if frame.state == "condition":
            if operator not in ("<", ">"):
                give_up()
            frame.terms.append(operator)
            return
        if frame.redirect is not None or frame.state not in ("start", "args", "after"):
            give_up()
        if frame.state == "start":
            frame.state = "args"
        if frame.simple is None:
            frame.simple = Simple()
        frame.redirect = prefix + operator

    def parenthesis(self, frame: Frame, at: int) -> int:
        """Handle `(`: a subshell, a function, arithmetic or a case pattern; return the place after it."""
        double = self.text.startswith("((", at)
        simple = frame.simple
        if frame.state == "for name" and double:
            frame.state = "for do"
            return skip_arithmetic(self.text, at + 2)
        if frame.state == "start" and double:
            frame.compounds.append("((")
            self.close(frame)
            return skip_arithmetic(self.text, at + 2)
        if frame.state in ("start", "body", "function parens"):
            end = skip_blanks(self.text, at + 1)
            if frame.state == "function parens" and self.text.startswith(")", end):
                frame.state = "body"
                return end + 1
            if frame.state != "start":
                frame.compounds.append("function")
                self.open_functions += 1
            frame.compounds.append("(")
            frame.state, frame.need, frame.timed = "start", True, False
            return at + 1
        if frame.state == "case pattern" and frame.want and not frame.terms:
            frame.terms.append("(")
            return at + 1
        if frame.state == "args" and simple and len(simple.argv) == 1 and simple.argv[0]:
            end = skip_blanks(self.text, at + 1)
            if self.text.startswith(")", end) and not simple.assignments and not simple.redirections:
                self.functions.add(simple.argv[0])
                frame.simple, frame.state, frame.need = None, "body", True
                return end + 1
        return give_up()

    def closing(self, frame: Frame) -> None:
        """Handle `)`: the end of a case pattern, a subshell or a substitution."""
        if frame.state == "case pattern":
            if frame.want or not frame.terms:
                give_up()
            frame.state = "start"
            return
        self.end_command(frame, ";", optional=True)
        if frame.need or frame.state != "start":
            give_up()
        if frame.compounds and frame.compounds[-1] == "(":
            self.close(frame)
        elif not frame.compounds and len(self.frames) > 1:
            self.pop()
        else:
            give_up()

    def newline(self, frame: Frame) -> None:
        """Handle a newline: it ends a command, or is white space where a command may still start."""
        if frame.redirect is not None or self.pending != len(frame.pending):
            give_up()
        if frame.state in ("args", "after"):
            self.end_command(frame, ";")
        elif frame.state == "for words":
            frame.state = "for do"
        elif frame.state not in _OPEN_STATES or (frame.state == "case pattern" and frame.terms):
            give_up()

    def plain(self, frame: Frame) -> bool:
        """Whether what ends here is run as its line is: in groups and subshells alone, none of them behind `||`."""
        return not self.alternates and len(frame.compounds) < _DEEP and {"(", "{"}.issuperset(frame.compounds)

    def end_command(self, frame: Frame, operator: str, optional: bool = False) -> None:
        """A command ends at one of `;` `&` `|` `&&` `||`."""
        ready = frame.state in ("args", "after")
        if frame.redirect is not None or not (ready or (optional and frame.state == "start")):
            give_up()
        outermost = len(self.frames) == 1 and not frame.compounds
        if ready:
            simple, frame.simple = frame.simple, None
            compound = frame.state == "after"
            if outermost:
                self.course.begin()
            if len(self.simples) > _MOST:
                give_up()
            if simple is not None:
                self.simples.append(simple)
                simple.detached = self.open_functions > 0
                simple.inner = len(self.frames) > 1
                if len(self.frames) == 1:
                    self.course.follow(simple, in_loop="do" in frame.compounds[-50:])
                    simple.plain = self.plain(frame)
            if outermost:
                self.course.add(None if compound else simple)
                if simple is not None:
                    simple.since = self.pipe_start
                if operator != "|":
                    self.pipe_start = len(self.simples)
            if len(self.frames) == 1 and operator in ("||", ";", "&"):
                (self.alternates.add if operator == "||" else self.alternates.discard)(len(frame.compounds))
            frame.state, frame.need, frame.timed = "start", operator in ("|", "&&", "||"), False
            frame.piped = operator == "|"
        if operator == "&":
            for index in range(len(self.simples) - 1, self.list_start - 1, -1):
                if self.simples[index].detached:
                    break
                self.simples[index].detached = True
        if outermost and self.course.end(operator):
            self.list_start = len(self.simples)
