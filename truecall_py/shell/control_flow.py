"""The course a shell takes through the outermost lists of a command: which commands were certainly run.

It must never count on a command that an `exit`, a failed `&&`, a failing redirection or an alias may
have kept from running.
"""

from __future__ import annotations

from truecall_py.shell.tokens import CALM, LOST, WARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecall_py.shell.lexer import Simple

ALWAYS, IF_ENDED, IF_ZERO, NO = "always", "if_ended", "if_zero", "no"

# After these the shell may be gone, or read the rest differently.
_ENDERS = frozenset((
    "exit", "return", "exec", "break", "continue", "trap", "eval", "source", ".", "alias", "unalias",
    "enable", "hash", "builtin", "shopt", "unset", "readonly", "declare", "typeset", "local", "logout",
    "suspend", "emulate", "setopt", "unsetopt",
))  # fmt: skip
_READONLY = frozenset(("UID", "EUID", "PPID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"))
# A failed redirection of these ends a POSIX shell.
_SPECIAL = frozenset((":", "export", "set", "shift", "times"))
_FAILURES = frozenset(str(code) for code in range(1, 256))


class Pipeline:
    """One pipeline of the outermost list: its commands, and the operator that joins it to the one before."""

    __slots__ = ("elements", "joined", "negated")

    def __init__(self, joined: str) -> None:
        self.joined = joined  # the operator before it
        self.negated = False
        self.elements: list[Simple | None] = []  # None: a compound command


class Course:
    """Follows the outermost lists of a line and sets how certain each simple command ran."""

    def __init__(self) -> None:
        self.risk = CALM
        self.pipelines = [Pipeline("")]
        self.lists = 0
        self.closed: list[Pipeline] = []  # the list before; whether it is the last one shows later

    def begin(self) -> None:
        """Settle the list before, once a new one has begun: it was not the last."""
        if len(self.pipelines) == 1 and not self.pipelines[0].elements:
            self.settle(last=False)

    def add(self, element: Simple | None) -> None:
        """Add a command to the current pipeline; None for a compound command."""
        self.pipelines[-1].elements.append(element)

    def end(self, operator: str) -> bool:
        """A command ended at this operator; True if the whole list did."""
        if operator in ("&&", "||"):
            self.pipelines.append(Pipeline(operator))
        elif operator in (";", "&") and self.pipelines[0].elements:
            self.closed = [] if operator == "&" else self.pipelines
            self.lists += 1
            self.pipelines = [Pipeline("")]
            return True
        return False

    def follow(self, simple: Simple, in_loop: bool) -> None:
        """The risk this command runs, and what it does to all that come after it."""
        if any(name in _READONLY for name, _ in simple.assignments):
            simple.own_risk = LOST
        simple.risk = max(self.risk, simple.own_risk)
        self.risk = max(simple.risk, _assess_aftermath(simple, in_loop))

    def settle(self, last: bool) -> None:
        """Set `certain`, `chain`, `piped` and `decides` for the commands of the list that ended; `last`: it ended
        the line."""
        pipelines, self.closed = self.closed, []
        number = self.lists - 1
        chained = all(pipeline.joined in ("", "&&") and not pipeline.negated for pipeline in pipelines)
        decides = last  # an exit code of 0 then means: this pipeline ended with 0, or was not reached
        for index in range(len(pipelines) - 1, -1, -1):
            pipeline = pipelines[index]
            decides = decides and not pipeline.negated
            piped = len(pipeline.elements) > 1
            for element in pipeline.elements:
                if element is not None:
                    element.chain, element.piped = (number if chained else -1), piped
            certain = NO
            if index == 0:
                certain = IF_ENDED if number else ALWAYS
            elif pipeline.joined == "&&" and decides:
                certain = IF_ZERO
            for place, element in enumerate(pipeline.elements):
                if element is None or pipeline.negated or certain == NO:
                    continue
                element.decides = decides and place == len(pipeline.elements) - 1
                begun = IF_ENDED if place and certain == ALWAYS else certain
                element.certain = _lower_certainty(element, begun, piped)
            decides = decides and pipeline.joined == "&&"


def _lower_certainty(simple: Simple, certain: str, piped: bool) -> str:
    """Return how certain a command ran, at most `certain`, given its own risk and the risk before it."""
    if simple.risk == LOST or (simple.own_risk and piped):  # in a pipe it ends the subshell only
        return NO
    if _may_not_start(simple):
        return IF_ZERO if simple.decides else NO
    return IF_ZERO if simple.risk == WARY else certain


def _may_not_start(simple: Simple) -> bool:
    """A redirection may fail, or sudo refuse: the command itself is then not run at all."""
    for operator, target in simple.redirections:
        kind = operator.lstrip("0123456789")
        if kind in ("<<", "<<-", "<<<") or target == "/dev/null":
            continue
        if kind not in (">&", "<&") or target not in ("0", "1", "2", "-"):
            return True
    return any(word is not None and (word == "sudo" or word.endswith("/sudo")) for word in simple.argv)


def _assess_aftermath(simple: Simple, in_loop: bool) -> int:
    """How far the rest of the line can be trusted after this command."""
    if not simple.argv:
        return WARY if _may_not_start(simple) else CALM
    name, words = simple.argv[0], simple.argv[1:]
    if name is None:
        return LOST
    if name == "command":
        return LOST if None in words or _ENDERS.intersection(words) else CALM
    if name == "set":
        return WARY if all(_is_harmless(word) for word in words) else LOST
    if name == "exit" and len(words) == 1 and words[0] in _FAILURES:
        return WARY
    if name in ("break", "continue") and not words and in_loop:
        return CALM
    if name == "shift" or (name in _SPECIAL and _may_not_start(simple)):
        return WARY
    return LOST if name in _ENDERS else CALM


def _is_harmless(word: str | None) -> bool:
    """Whether an argument of `set` only makes the shell stricter or more verbose."""
    if word in ("pipefail", "errexit", "nounset", "xtrace"):
        return True
    return word is not None and len(word) > 1 and word[0] in "+-" and not word[1:].strip("euxo")
