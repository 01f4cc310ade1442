"""The facts that travel from payload to reply, all immutable. Never does anything with them."""

from __future__ import annotations

from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final


class Absent:
    """The value of a fact that the harness did not give. Not None: null is a value."""

    def __repr__(self) -> str:
        return "absent"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


class Withheld(dict):  # type: ignore[type-arg]
    """A JSON object of which some values are masked: to ask for one of those raises Unverified. Its items can be
    listed as they are, for people. `free` are names that may be asked for all the same."""

    def __init__(self, plain: Mapping[str, Any], free: tuple[str, ...] = ()) -> None:
        super().__init__(plain)
        self.free = free

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name in self.free or not self.holds_mask(value):
            return value
        return Withheld(value) if isinstance(value, dict) else self.refuse(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - dict's own `get` asks nobody

    @staticmethod
    def holds_mask(value: Any) -> bool:
        """Whether anything in a JSON value is masked."""
        from truecall_py.core.fast_json import dumps
        from truecall_py.core.secret_patterns import MASK, WORD

        text = value if isinstance(value, str) else dumps(value)
        return MASK in text or WORD in text

    @staticmethod
    def refuse(name: str) -> Any:
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

LANDED, REPORTED_FAILURE, FALSE_SUCCESS, NOT_LANDED = "landed", "honest failure", "lie", "not landed"


@record(frozen=True)
class File:
    """One file that a call names as changed. `path` is absolute unless the harness left the folder open;
    `before` is the content the harness says was there (None: not said)."""

    path: str
    action: str  # add | update | delete | move
    content: str | None = None
    before: str | None = None


@record(frozen=True)
class ToolCall:
    """One finished tool call, the same whatever the harness. The fields are the names of the contract
    format; `duration` is in seconds."""

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
    """An agent that wants to stop, the same whatever the harness. `turn` is that of its calls (memory.turn_of);
    `agent` names a sub-agent, "" the main one; `message` is its last one (None: not said); `active` says that it
    goes on only because a hook held it; `running` are the background tasks that have not ended (None: not said)."""

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
    """One check of a contract: its name and its parameters, templates not yet resolved."""

    name: str
    params: Any


@record(frozen=True)
class Outcome:
    """What one check found. `expected` and `found` are phrases for people; `seconds` is the time of the
    last look; `blank` says of a refutation that there was nothing to compare, so that `not` proves nothing;
    `effect` says of a verification whether the call can have brought it about (NEW, OLD, or nothing known)."""

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
    """The judgement of one contract over one call (for `{{file.…}}` contracts: over one of its files)."""

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
    """What the agent is told. `replace` asks for the form that takes the place of the tool's output."""

    text: str
    replace: bool
    ends: bool = False  # the loop of the agent is to end here (on_exhausted: stop)


@record(frozen=True)
class Reply:
    """What the hook process answers: `stdout`, one ASCII JSON object or nothing."""

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
    """How a probe process ended. `exit_code` is None when it was killed at its time-out or never started;
    `trouble` then says why."""

    exit_code: int | None
    stdout: str
    stderr: str
    trouble: str = ""
    cause: str = "probe"


@record(frozen=True)
class Fetched:
    """An HTTP answer. `body` is bounded; `truncated` says that more came."""

    status: int
    headers: Mapping[str, str]
    body: str
    truncated: bool = False
