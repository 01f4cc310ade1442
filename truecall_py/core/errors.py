"""The error classes. Each error says what is wrong, where, and how to fix it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.core.types import Problem


class TruecallError(Exception):
    """An error that truecall can explain.

    `what` is one sentence. `where` is a file, `path:line:column`, a field or "". `do` says how to fix it. `exit_code`
    is the exit code of the command.
    """

    exit_code = 2

    def __init__(self, what: str, where: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do

    def __str__(self) -> str:
        """The error on one line, then the fix on a second one."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  -> {self.do}" if self.do else text


class UsageError(TruecallError):
    """The command line is wrong."""


class PayloadError(TruecallError):
    """The hook payload is not one JSON object of a known client."""

    exit_code = 3


class ContractError(TruecallError):
    """A contract file cannot be used. `problems` lists every problem in file order."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.message, f"{path}:{first.line}:{first.column}", first.hint)


class TrustError(TruecallError):
    """The trust store cannot be read or written."""

    exit_code = 3


class Unverified(Exception):
    """A check cannot reach a verdict. `why` is a clause that follows "because". `cause` is one of `types.CAUSES` and
    decides whether the message is about the agent, the contract or the machine."""

    def __init__(self, why: str, cause: str = "world", expected: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.cause = cause
        self.expected = expected


class DeadlineReached(BaseException):
    """The hook's deadline has passed, or a signal asked it to end.

    A BaseException, so that a check's `except Exception` does not catch it.
    """
