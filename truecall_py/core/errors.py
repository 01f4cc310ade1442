"""One tree of errors: each says what is wrong, where, and what to do. Never catches anything itself."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from truecall_py.core.types import Problem


class TruecallError(Exception):
    """Something truecall can explain.

    `what` is one sentence; `where` is a file, `path:line:column` or a field, or ""; `do` is what the
    person can do about it. `exit_code` is what a command ends with (documented in the README).
    """

    exit_code = 2

    def __init__(self, what: str, where: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  -> {self.do}" if self.do else text


class UsageError(TruecallError):
    """The command was called with something it does not take."""


class PayloadError(TruecallError):
    """What came in as a hook payload is not one JSON object that a harness is known to send."""

    exit_code = 3


class ContractError(TruecallError):
    """A contract file cannot be used. `problems` lists every place, in file order."""

    def __init__(self, path: str, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.message, f"{path}:{first.line}:{first.column}", first.hint)


class TrustError(TruecallError):
    """The trust store cannot be read or written as it must be."""

    exit_code = 3


class Unverified(Exception):
    """A check cannot reach a verdict. `why` is a clause that follows "because"; `cause` is one of
    `types.CAUSES` and decides whether the agent, the contract or the machine is spoken of."""

    def __init__(self, why: str, cause: str = "world", expected: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.cause = cause
        self.expected = expected


class DeadlineReached(BaseException):
    """The one deadline of this hook call is over, or a signal asked it to end.

    A BaseException, so that no check's own `except Exception` can swallow it.
    """
