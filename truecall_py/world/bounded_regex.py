"""Regular expressions bounded in time. A pattern that does not end is "could not verify", never an answer.

The `re` engine asks for pending signals while it matches, so an interval timer in the main thread can end
it. Elsewhere (judge() called from another thread) the search runs in the worker, which can be killed.
"""

from __future__ import annotations

from truecall_py.core.errors import Unverified

LONGEST = 16 * 1024 * 1024  # characters of text


class Interrupted(BaseException):
    """The timer went off inside a match."""


def search(pattern: str, text: str, seconds: float) -> bool:
    """Whether `pattern` is found in `text`; `^` and `$` are the ends of the text, as in Python's re.
    Raises Unverified when it takes longer than `seconds` or the pattern is not a regular expression."""
    import re

    if len(text) > LONGEST:
        raise Unverified(f"the text is longer than {LONGEST} characters and is not searched", "probe")
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise Unverified(f"the pattern {pattern[:80]!r} is not a regular expression: {error}", "contract") from None
    import signal
    import time

    def ended(number: int, frame: object) -> None:
        raise Interrupted

    try:
        before = signal.signal(signal.SIGALRM, ended)
    except ValueError:  # not the main thread
        return search_in_worker(pattern, text, seconds)
    began = time.monotonic()
    running, again = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return compiled.search(text) is not None
    except Interrupted:
        raise Unverified(f"the pattern {pattern[:80]!r} did not end within {seconds:.1f} s", "contract") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if running:
            signal.setitimer(signal.ITIMER_REAL, max(running - (time.monotonic() - began), 0.001), again)


def search_in_worker(pattern: str, text: str, seconds: float) -> bool:
    """Search in the worker, which can be killed. Raises Unverified."""
    import time

    from truecall_py.world.worker import ask

    answer = ask({"do": "search", "pattern": pattern, "text": text}, None, seconds, time.monotonic() + seconds)
    return bool(answer["found"])
