"""The hook: one event on standard input, one answer on standard output, whatever happens in between.

The fail-closed boundary. Everything that goes wrong here ends in an answer that says so; nothing ends in
silence but an event that is not judged, a call that no contract names, and one that kept all of them.
Standard library only, and as little of it as can be: this runs on every tool call.
"""

from __future__ import annotations

import os
import sys
import time

from truecall_py.errors import DeadlineReached, PayloadError, TruecallError, TrustError
from truecall_py.incoming import Options, decode, read_stdin
from truecall_py.types import Correction, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, ModuleType
    from typing import Any

    from truecall_py.trust import Source
    from truecall_py.types import ToolCall

SEAL = "#truecall:end"  # the launcher takes nothing for an answer that does not end so
LOOKING = frozenset(("read", "fetch", "agent"))


def adapter(payload: dict[str, Any]) -> ModuleType:
    """The harness module that reads and answers this payload: the sender's own shape counts, not what the
    registration says. Raises PayloadError."""
    from truecall_py.harnesses import module, recognise

    return module(recognise(payload))


def registration(given: str, seen: str) -> tuple[str, ...]:
    """What the person should know about the harness that the registered command names. Raises PayloadError
    for one that there is not."""
    if not given or given == seen:
        return ()
    from truecall_py.harnesses import module
    from truecall_py.wording import disagreement

    module(given)
    return (disagreement(given, seen),)


def anchor(variable: str) -> str:
    """The folder whose contracts count: the project's, never one that the agent chose for a command. `variable` is
    the one in which the harness names it, if it has one."""
    given = os.environ.get(variable, "") if variable else ""
    if given.startswith("/"):
        return given
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted under us: Linux still knows its name, elsewhere the shell may
        try:
            named = os.readlink("/proc/self/cwd").removesuffix(" (deleted)")
        except OSError:
            named = os.environ.get("PWD", "")
    if not named.startswith("/"):
        raise PayloadError("the working folder was deleted, so its contracts cannot be found")
    return named


def told_already(state: str, session: str, path: str, status: str) -> bool:
    """Whether this session was told before. Marks it as told; where no mark can be set, it is told again."""
    if not session:
        return False
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{session[:80]}{status}{path[-120:]}")
    try:
        folder = os.path.join(state, "notices")
        os.makedirs(folder, 0o700, exist_ok=True)
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def calls(harness: ModuleType, payload: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls that a payload tells of and that are judged: the one that ended, or those of a batch that no
    event of their own ever told of."""
    call = harness.parse(payload)
    if call is not None:
        return (call,)
    refused: tuple[ToolCall, ...] = harness.refused(payload) if hasattr(harness, "refused") else ()
    return refused


def judged(
    harness: ModuleType, event: str, every: tuple[ToolCall, ...], options: Options, ends: float,
    notices: tuple[str, ...],
) -> Reply:  # fmt: skip
    """The reply to the calls of one event: every contract that counts is asked about each."""
    from truecall_py import places, trust

    state = options.state or places.state()
    session = anchor(harness.PROJECT_ENV)
    found = trust.sources(session, state, places.user_file(), options.contracts)
    corrections = []
    for call in every:
        correction, notices = judged_by(found, call, state, session, ends, notices)
        corrections.append(correction)
    correction = corrections[0]
    if len(corrections) > 1:
        from truecall_py.wording import joined

        correction = joined(corrections)
    return answer(harness, event, every[0], correction, notices)


def seen(harness: ModuleType, call: ToolCall, options: Options, ends: float) -> None:
    """The look before a call: what the contracts want to know of the world is kept for the judgement after it."""
    from truecall_py import places, trust

    state = options.state or places.state()
    session = anchor(harness.PROJECT_ENV)
    contracts = []
    for source in trust.sources(session, state, places.user_file(), options.contracts):
        try:
            contracts += source.named(call)
        except TrustError:
            continue  # told after the call
    if contracts:
        from truecall_py.judging import look_before

        snapshot = look_before(contracts, call, ends, session)
        if snapshot is not None:
            from truecall_py.snapshots import keep

            keep(state, call.session, call.call_id, snapshot)


def judged_by(
    found: list[Source], call: ToolCall, state: str, session: str, ends: float, notices: tuple[str, ...]
) -> tuple[Correction | None, tuple[str, ...]]:
    from truecall_py import trust

    untrusted: list[str] = []
    contracts = []
    for source in found:
        try:
            contracts += source.named(call)
        except TrustError as error:
            source = source.doubted(error.what)
        if source.status == trust.TRUSTED:
            continue
        if source.status == trust.UNTRUSTED:
            if not call.kinds <= LOOKING:
                from truecall_py.wording import untrusted as words

                untrusted.append(words(source.path, source.why))
        elif not told_already(state, call.session, source.path, source.status):
            from truecall_py.wording import changed_notice

            notices += (changed_notice(source.path, source.status, source.why),)
    correction = None
    if contracts:
        from truecall_py.judging import concluded, snapshot_of, verdicts

        snapshot = snapshot_of(contracts, call, state)
        judgement = concluded(call, verdicts(contracts, call, ends, session, snapshot), notices)
        correction, notices = judgement.correction, judgement.notices
    if untrusted:
        from truecall_py.wording import with_untrusted

        correction = with_untrusted(correction, untrusted)
    return correction, notices


def answer(
    harness: ModuleType, event: str, call: ToolCall | None, correction: Correction | None, notices: tuple[str, ...]
) -> Reply:
    if correction is None and not notices:
        return Reply()
    reply: Reply = harness.render(event, call, correction, notices)
    return reply


def loud(options: Options, why: str, do: str = "", harness: ModuleType | None = None) -> Reply:
    """The answer where nothing could be judged: in the dialect of the harness that is known, else in the one
    that most understand."""
    from truecall_py.harnesses import NAMES, module
    from truecall_py.wording import unreadable

    harness = harness or module(options.harness if options.harness in NAMES else "claude-code")
    text = unreadable(why, do)
    if options.event in harness.KNOWN:  # one that is not about a finished call: the person is told
        return answer(harness, options.event, None, None, (text,))
    event = options.event if options.event in harness.HANDLED else harness.HANDLED[0]
    return answer(harness, event, None, Correction(text, False), ())


def reply_to(options: Options, ends: float) -> Reply:
    """The reply to the event on standard input. Raises TruecallError for what the boundary words."""
    harness = None
    try:
        data = read_stdin(min(ends, time.monotonic() + options.deadline))
        if options.wrong:
            raise PayloadError(f"the registered command is wrong: {options.wrong}")
        payload = decode(data)
        del data
        harness = adapter(payload)
        notices = registration(options.harness, harness.NAME)
        event = str(payload.get("hook_event_name") or options.event)
        announced = harness.announced(payload) if hasattr(harness, "announced") else None
        if announced is not None:
            seen(harness, announced, options, ends)
            return answer(harness, event, None, None, notices)
        every = calls(harness, payload)
        if not every:
            return answer(harness, event, None, None, notices)
        return judged(harness, event, every, options, ends, notices)
    except TruecallError as error:
        where = f"{error.where}: " if error.where else ""
        return loud(options, f"{where}{error.what}", error.do, harness)


def signal_module() -> ModuleType:
    """`signal` without its enums, which cost a third of the whole start; the module itself elsewhere."""
    try:
        return __import__("_signal")
    except ImportError:
        return __import__("signal")


def arm(seconds: float) -> None:
    """A signal at the deadline, or from a client that has had enough, ends the work but not the answer."""
    signals = signal_module()

    def ended(number: int, frame: FrameType | None) -> None:
        for each in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
            signals.signal(each, signals.SIG_IGN)
        raise DeadlineReached("the hook was told to end" if number != signals.SIGALRM else "the time was over")

    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP, signals.SIGALRM):
        signals.signal(number, ended)
    signals.signal(signals.SIGCHLD, signals.SIG_DFL)  # a client that ignores it would cost every exit code
    signals.setitimer(signals.ITIMER_REAL, seconds)


def disarm() -> None:
    """From here on only the answer is left to be written, and no signal may cost it."""
    signals = signal_module()
    signals.setitimer(signals.ITIMER_REAL, 0)
    for number in (signals.SIGTERM, signals.SIGINT, signals.SIGHUP):
        signals.signal(number, signals.SIG_IGN)
    process = sys.modules.get("truecall_py.process")
    if process is not None:
        process.kill_all()


def guarded(argv: list[str]) -> Reply:
    """The boundary: any end of the work becomes a reply."""
    options = Options(argv)
    try:
        try:
            arm(options.deadline + 0.5)
            return reply_to(options, time.monotonic() + options.deadline)
        finally:
            disarm()
    except DeadlineReached as end:
        return loud(options, str(end))
    except BaseException as error:
        from truecall_py import bugs, places

        path = bugs.write(error, options.state or places.state())
        do = f"A report is in {path}." if path else ""
        return loud(options, f"it met a bug of its own ({type(error).__name__})", do)


def main(argv: list[str], seal: bool = False) -> int:
    """Answers one hook event; what the process ends with. `seal` is for the launcher."""
    reply = guarded(argv)
    out = reply.stdout + (f"\n{SEAL}" if seal else "\n" if reply.stdout else "")
    try:
        data = out.encode("ascii")
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        return 2  # nobody reads: every client takes 2 for "blocked", none takes it for "well"
    return 0
