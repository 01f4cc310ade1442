"""process: a process is alive, and stays alive. A zombie, a later process with the same id, or one of truecall's own
processes is not the wanted one."""

from __future__ import annotations

from truecall_py.checks import LOGIC
from truecall_py.checks.support.outcomes import compare_effect, refuted, unverified, verified
from truecall_py.contracts.field import field
from truecall_py.contracts.matchers import describe, has_delta, matches, quote_value
from truecall_py.core.errors import Unverified
from truecall_py.core.types import ABSENT, NEW, OLD, Outcome, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from truecall_py.world.process_table import Process
    from truecall_py.world.world import World

NAME = "process"
SUMMARY = "A process is alive, now and for a given time; or it is gone."
STAGE = LOGIC
FAILURE_CLASS = ""
COST = 24.0
FIELDS = (
    field("pid", "number", "The process with this id.", templated=True),
    field("pid_file", "path", "The process whose id is in this file.", templated=True),
    field("command", "matcher", "Processes of the same user with a matching command line (words joined by spaces). "
          "With `pid` or `pid_file`: that process must match.", templated=True),
    field("alive_for", "duration", "The same process must still be alive after this time."),
    field("since", "choice", "call: it must have started after the call began.", choices=("call",)),
    field("count", "matcher", "The number of processes with that `command`; default: at least one."),
    field("absent", "boolean", "true: there is no such process."),
    field("vacuous", "choice", "ok: `absent` holds without proof that it ran before.",
          choices=("ok",)),
)  # fmt: skip
ASSERTS = ("pid", "pid_file", "command")
ONLY_AFTER = {"since": ()}
START = "sleep 60 >/dev/null 2>&1 & echo $! > server.pid"
EXAMPLES = (
    {
        "title": "the server is alive, and still is a moment later",
        "before": {"files": {}},
        "setup": START,
        "check": {"pid_file": "server.pid", "alive_for": "200ms", "since": "call"},
        "verdict": "verified",
    },
    {
        "title": "started, and ended at once",
        "setup": "sh -c 'exit 1' & echo $! > server.pid; wait || true",
        "check": {"pid_file": "server.pid"},
        "verdict": "refuted",
    },
    {
        "title": "reported as stopped, but still alive",
        "setup": START,
        "check": {"pid_file": "server.pid", "absent": True},
        "verdict": "refuted",
    },
    {
        "title": "the process ran before the call",
        "before": {"setup": START},
        "check": {"pid_file": "server.pid"},
        "verdict": "unverified",
    },
)

STEP = 0.1  # seconds between two probes while it must stay alive
SLACK = 2.0  # seconds by which a file may be older than the process that it names
MANY = 3  # processes named one by one


def expect(params: dict[str, Any]) -> str:
    words = [f"{'no process' if params.get('absent') else 'a living process'}{describe_subject(params)}"]
    if params.get("count"):
        words.append(f"their number {describe(params['count'])}")
    if params.get("since"):
        words.append("started by this call")
    if params.get("alive_for"):
        words.append(f"still alive after {params['alive_for']:g} s")
    return ", ".join(words)


def describe_subject(params: dict[str, Any]) -> str:
    words = f" {params['pid']}" if params.get("pid") is not None else ""
    words += f" of the id in {params['pid_file']}" if params.get("pid_file") is not None else ""
    return words + (f" whose command line {describe(params['command'])}" if params.get("command") else "")


def run(params: dict[str, Any], call: ToolCall, world: World) -> Outcome:
    require_consistent(params)
    expected = expect(params)
    if params.get("absent"):
        return judge_absent(params, expected, world)
    earlier = world.earlier(NAME, params)
    processes, why = find_living(params, world)
    if params.get("since"):
        processes, why = select_new(processes, why, earlier, call, world)
    counted = params.get("count") or {"at_least": 1}
    was = None if earlier is ABSENT else (len(earlier),)
    if not matches(counted, len(processes), world, before=was):
        if has_delta(counted) and not world.alone(NAME, params):
            raise Unverified("another call about the same processes ran at the same time", "probe")
        found = name_processes(processes) if processes else why
        return refuted(expected, found, blank=not processes and not earlier)
    if params.get("alive_for"):
        left = find_survivors(processes, params, world)
        if not matches(counted, len(left), world, before=was):
            lost = [process for process in processes if process not in left]
            return refuted(expected, f"{name_processes(lost)} ended within {params['alive_for']:g} s")
    return verified(expected, name_processes(processes), find_effect(processes, earlier, call, world))


def find_effect(found: list[Process], earlier: Any, call: ToolCall, world: World) -> str:
    """Return what changed since before the call. A process that ran long before it is not new because its file is
    new."""
    told = compare_effect(earlier, list_identities(found))
    if told != NEW or any(mark not in list_identities(found) for mark in earlier):
        return told
    added = [process for process in found if process.identity not in earlier]
    began = world.began(call.duration)
    return OLD if began is not None and all(is_older(process, began) for process in added) else NEW


def is_older(process: Process, began: float) -> bool:
    """Whether a process certainly ran before a time, with some tolerance for differing clocks."""
    return process.started + process.blur < began - SLACK


def require_consistent(params: dict[str, Any]) -> None:
    """Raise Unverified if two fields contradict each other."""
    one = params.get("pid") is not None or params.get("pid_file") is not None
    wrong = ""
    if params.get("pid") is not None and params.get("pid_file") is not None:
        wrong = "process holds both pid and pid_file"
    elif params.get("count") and one:
        wrong = "count is asked of a command only, and one id is one process"
    elif params.get("absent") and any(params.get(name) for name in ("count", "alive_for", "since")):
        wrong = "a process that is absent has no count, alive_for or since"
    if wrong:
        raise Unverified(wrong, "contract")


def take_snapshot(params: dict[str, Any], call: ToolCall, world: World) -> list[list[int | str]]:
    """Return the matching processes before the call: the id and the start of each."""
    require_consistent(params)
    return list_identities(find_living(params, world)[0])


def needs_snapshot(params: dict[str, Any]) -> bool:
    """If the process must be absent or new: it may never have existed, and times alone are a weak proof."""
    return bool(params.get("absent") or params.get("since") or has_delta(params.get("count")))


def find_living(params: dict[str, Any], world: World) -> tuple[list[Process], str]:
    """Return the matching processes that are alive, and what to say if there are none. Raises Unverified."""
    from truecall_py.world.process_table import ZOMBIE, find_ancestors, find_process, list_own

    wanted = params.get("command")
    if params.get("pid") is None and params.get("pid_file") is None:
        processes = [process for process in list_own(world) if matches(wanted or {}, process.line, world)]
        return processes, "no process of this user has such a command line"
    pid: int | None
    written = None
    if params.get("pid_file") is None:
        pid = parse_pid(params["pid"])
    else:
        pid, written = read_pid_file(params["pid_file"], world)
    if pid is None:
        return [], f"there is no file {world.resolve(params['pid_file'])}"
    if pid in find_ancestors():
        raise Unverified(f"the process {pid} is truecall's own or has started it, so it proves nothing", "tool")
    process = find_process(pid, world)
    if process is None:
        return [], f"there is no process {pid}"
    if process.dead:
        return [], f"the process {pid} is {ZOMBIE}"
    if written is not None and process.started - process.blur > written + SLACK:
        why = f"the process {pid} is younger than {params['pid_file']}, so it is probably another one"
        raise Unverified(why, "world")
    if wanted and not matches(wanted, process.line, world):
        return [], f"the process {pid} is another one: {quote_value(process.line)}"
    return [process], ""


def parse_pid(value: Any) -> int | None:
    """Return the process id in a value of the call. Raises Unverified for anything else."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:20])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unverified(f"{quote_value(value, 60)} is not the id of a process", "tool")
    return value


def read_pid_file(path: str, world: World) -> tuple[int | None, float]:
    """Return the id in a file (None: there is no file) and the time at which the file was written."""
    full = world.resolve(path)
    found = world.stat(full)
    if found is None:
        return None, 0.0
    if found.st_size > 4096:
        raise Unverified(f"{full} holds {found.st_size} bytes and is no file with the id of a process", "world")
    words = world.read(full).decode("utf-8", "replace").split()
    if not words or not words[0].isascii() or not words[0].isdigit():
        raise Unverified(f"{full} does not begin with the id of a process", "world")
    return int(words[0][:20]), found.st_mtime


def select_new(
    found: list[Process], why: str, earlier: Any, call: ToolCall, world: World
) -> tuple[list[Process], str]:
    """Return the processes that this call started, and what to say if there are none. That the snapshot lacks a
    process is not enough: its id may not have been in the file, or its command line may have been another."""
    unseen = [process for process in found if earlier is ABSENT or process.identity not in earlier]
    began = world.began(call.duration)
    if unseen and began is None:
        raise Unverified("neither the harness nor a snapshot says when the call began", "harness")
    # The time of a snapshot is exact, so a process that it lacks has the blur in its favour. A duration is not exact.
    favour = -1 if earlier is ABSENT else 1
    fresh = [process for process in unseen if process.started + favour * process.blur >= (began or 0.0)]
    doubtful = [process for process in unseen if process not in fresh and not is_older(process, began or 0.0)]
    if doubtful:
        raise Unverified(f"{name_processes(doubtful)} began within {SLACK:g} s of the start of the call", "probe")
    if found and not fresh:
        return [], f"{name_processes(found)} ran before the call already"
    return fresh, why


def find_survivors(found: list[Process], params: dict[str, Any], world: World) -> list[Process]:
    """Return the processes that live as long as they should. It probes repeatedly, to see an early end early."""
    from truecall_py.world.process_table import find_process

    until = world.now() + params["alive_for"]
    if until > world.ends:
        raise Unverified(f"there is no time left to see whether it lives for {params['alive_for']:g} s", "probe")
    left = found
    while left and world.now() < until:
        world.sleep(min(STEP, until - world.now()))
        again = [(process, find_process(process.pid, world)) for process in left]
        left = [old for old, now in again if now is not None and not now.dead and now.identity == old.identity]
    return left


def judge_absent(params: dict[str, Any], expected: str, world: World) -> Outcome:
    """Return the outcome if no process may exist. Another process with the same id is not the one that was meant."""
    earlier = world.earlier(NAME, params)
    processes, why = find_living(params, world)
    still = processes
    if earlier is not ABSENT and not params.get("command"):
        still = [process for process in processes if process.identity in earlier]
    if earlier is not ABSENT and not still:
        still = find_remaining(earlier, world)  # the call removed the file and left the process
        if still and params.get("command") and not matches(params["command"], still[0].line, world):
            renamed = f"{name_processes(still)} ran before the call and still does, with another command line"
            return unverified(expected, renamed, "world")
    if still:
        return refuted(expected, f"{name_processes(still)} is still there")
    why = why or f"{name_processes(processes)} is another one than before the call"
    if params.get("vacuous") == "ok":
        return verified(expected, why)
    if earlier is ABSENT:
        return unverified(expected, f"{why}, but nothing proves that it was there before", "harness")
    return verified(expected, why, compare_effect(earlier, []))


def find_remaining(earlier: list[Any], world: World) -> list[Process]:
    """Return the processes that existed before the call and still live."""
    from truecall_py.world.process_table import find_process

    found = [find_process(pid, world) for pid, _ in earlier]
    return [process for process in found if process and not process.dead and process.identity in earlier]


def list_identities(found: list[Process]) -> list[list[int | str]]:
    return sorted((process.identity for process in found), key=str)


def name_processes(found: list[Process]) -> str:
    """Return the processes for people: ids and command lines of the first, the number of the others."""
    words = [f"process {each.pid} ({quote_value(each.line, 80)})" for each in found[:MANY]]
    more = len(found) - MANY
    return " and ".join(words) + (f" and {more} more" if more > 0 else "")
