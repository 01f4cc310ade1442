"""The immutable values that pass from payload to reply."""

from __future__ import annotations

from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final


class Absent:
    """The value of a fact that the client did not give. Not None, since null is a value."""

    def __repr__(self) -> str:
        return "absent"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


class Withheld(dict):  # type: ignore[type-arg]
    """A JSON object with masked values: reading a masked one raises Unverified. Listing the items shows the masks.
    `free` names may be read regardless."""

    def __init__(self, plain: Mapping[str, Any], free: tuple[str, ...] = ()) -> None:
        super().__init__(plain)
        self.free = free

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name in self.free or not self.holds_mask(value):
            return value
        return Withheld(value) if isinstance(value, dict) else self.refuse(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value or `default`. Raises Unverified for a masked one, which dict's own `get` would return."""
        return self[name] if name in self else default  # noqa: SIM401 - dict's own `get` asks nobody

    @staticmethod
    def holds_mask(value: Any) -> bool:
        """Tells whether a JSON value contains a mask."""
        from truecall_py.core.fast_json import dumps
        from truecall_py.core.secret_patterns import MASK, WORD

        text = value if isinstance(value, str) else dumps(value)
        return MASK in text or WORD in text

    @staticmethod
    def refuse(name: str) -> Any:
        """Raises Unverified: the value was a secret and is not stored."""
        from truecall_py.core.errors import Unverified

        raise Unverified(f"{name} held a secret when the call was made, and that is not stored", "tool")


VERIFIED, REFUTED, UNVERIFIED = "verified", "refuted", "unverified"
# What stands in the ledger of a verdict that is not reached yet, and of an operation that was done twice.
PENDING, DUPLICATE = "pending", "duplicate"
UNTOLD_INTENT = "untold"  # in an intent's data: why it is unknown which operation its call began
UNRESOLVED = ("unknown", PENDING)  # the states of an operation while its source has not said how it ended
BROKEN_OFF = "PostToolUseFailure"  # the event of a call that failed, or of which nobody says so: it was broken off

# Why a check could not reach a verdict. `tool` and `world`: the answer or the machine under test;
# `probe`: the look itself had trouble (time-out, name resolution); `contract`, `harness`, `truecall`: not
# the agent's doing at all; `vacuous`: it holds, and held before the call just the same. Only the first two
# are delivered in place of the tool's output.
CAUSES = ("tool", "world", "probe", "contract", "harness", "truecall", "vacuous")

# What a look knows of the effect, by a snapshot that was taken before the call: nothing, that something
# changed since, that all of it was there before.
UNTOLD, NEW, OLD = "", "new", "old"

DEADLINE = 20.0  # seconds for everything: stdin, all checks, their clean-up
STOP_DEADLINE = 600.0  # the same where an agent wants to stop
STOP_EVENTS = ("Stop", "SubagentStop")

SUCCESS, FAILURE, UNKNOWN = "success", "failure", "unknown"
READ_ONLY = frozenset(("read", "fetch", "agent"))  # kinds of calls that change nothing

LANDED, REPORTED_FAILURE, FALSE_SUCCESS, NOT_LANDED = "landed", "honest failure", "lie", "not landed"


@record(frozen=True)
class File:
    """One file that a call changes. `path` is absolute unless the client left the folder open. `before` is the
    content that the client says it had (None: not given)."""

    path: str
    action: str  # add | update | delete | move
    content: str | None = None
    before: str | None = None


@record(frozen=True)
class ToolCall:
    """One finished tool call, the same for every client. The fields are those of the contract format; `duration` is
    in seconds."""

    harness: str
    event: str
    tool: str
    kinds: frozenset[str]
    args: dict[str, Any]
    files: tuple[File, ...] = ()
    result: Any = ABSENT
    is_error: bool | None = None
    text: str | None = None
    reported: str = UNKNOWN
    exit_code: int | None = None
    transcript: str | None = None  # where exit code and status may be looked up, if not given
    cwd: str | None = None
    start_cwd: str | None = None
    session: str = ""
    call_id: str = ""
    agent: str = ""
    turn: str = ""
    duration: float | None = None
    background: bool = False
    response: Any = ABSENT  # the tool's answer as it came, for harness.render
    notes: tuple[str, ...] = ()  # what the person should know about how the payload was read
    added: tuple[str, ...] = ()  # names in `args` that were not sent: the neutral ones beside the client's own


@record(frozen=True)
class Stop:
    """An agent that wants to stop, the same for every client. `turn` is that of its calls (events.name_turn); `agent`
    names a sub-agent, "" the main one; `message` is its last one (None: not given); `active` says that it continues
    only because a hook held it; `running` are the unfinished background tasks (None: not given)."""

    harness: str
    event: str
    session: str
    turn: str = ""
    agent: str = ""
    message: str | None = None
    active: bool = False
    transcript: str | None = None
    cwd: str | None = None
    running: tuple[str, ...] | None = None


@record(frozen=True)
class CheckSpec:
    """One check of a contract: its name and its parameters, with templates unresolved."""

    name: str
    params: Any


@record(frozen=True)
class Outcome:
    """The result of one check. `expected` and `found` are phrases for people; `seconds` is the time of the last
    probe; `blank` marks a refutation with nothing to compare, so that `not` proves nothing; `effect` says whether the
    call can have caused a verified effect (NEW, OLD or UNTOLD)."""

    check: str
    state: str
    expected: str
    found: str
    cause: str = ""
    candidates: tuple[str, ...] = ()
    seconds: float = 0.0
    blank: bool = False
    effect: str = ""
    receipt: dict[str, Any] | None = None  # what the source of the operation says (receipts); None: no such look
    failure: str = ""  # the class of failure of its check (FAILURE_CLASS), of a refutation


@record(frozen=True)
class Verdict:
    """The verdict of one contract on one call (with `{{file.…}}`: on one of its files)."""

    contract: str
    state: str
    outcome: str  # landed | honest failure | lie | not landed | duplicate | unknown
    outcomes: tuple[Outcome, ...]
    source: str  # file:line
    mode: str = "enforce"
    repeat: str = ""
    remedy: str = ""
    alternatives: tuple[str, ...] = ()
    cause: str = ""
    subject: str = ""
    seconds: float = 0.0
    kind: str = ""  # the contract's own class of failure
    grants: str = ""
    file: str = ""  # the path of the contract's file: with `contract` it names one contract
    about: tuple[Any, ...] = ()  # what it is about, whole: contract file, folder, file or captures (): not known
    claims: bool = False  # at a stop: judged because the last message claims it
    private: bool = False  # what was found is not kept (store: none)


@record(frozen=True)
class Correction:
    """The text for the agent. `replace` asks for the form that replaces the tool's output."""

    text: str
    replace: bool
    ends: bool = False  # the loop of the agent is to end here (on_exhausted: stop)


@record(frozen=True)
class Reply:
    """The hook's answer: `stdout` is one ASCII JSON object or nothing."""

    stdout: str = ""


@record(frozen=True)
class Problem:
    """One finding in a contract file. `code` is stable; `severity` is error or warning."""

    line: int
    column: int
    code: str
    message: str
    hint: str = ""
    severity: str = "error"


@record(frozen=True)
class Finished:
    """How a probe process ended. `exit_code` is None if it was killed at its timeout or never started; `trouble` says
    why."""

    exit_code: int | None
    stdout: str
    stderr: str
    trouble: str = ""
    cause: str = "probe"


@record(frozen=True)
class Fetched:
    """An HTTP response. `body` is bounded; `truncated` says that more came."""

    status: int
    headers: Mapping[str, str]
    body: str
    truncated: bool = False
