"""What an agent and a person are told of truecall's own trouble: the part of `wording` that is about no verdict.
Never lets a doubt sound like a pass, and always says what to do."""

from __future__ import annotations

from truecall_py.core.redaction import quoted
from truecall_py.messages.corrections import shell_word


def unseen(state: str) -> str:
    """What the person is told where a look before a call could not be kept."""
    return (
        f"truecall: what was seen before a call cannot be kept in {quoted(shell_word(state), 300)}: whether a call "
        "changed anything cannot be told until that is mended. To look into it: truecall doctor"
    )


def forgetful(why: str) -> str:
    """What the person is told where the ledger cannot be used."""
    return (
        f"truecall: {quoted(why, 400)}. Calls are judged all the same; attempts, rests, duplicates and the stop "
        "gate are not remembered until it is mended. To look into it: truecall doctor"
    )


def lost_memory(why: str) -> str:
    """What the person is told where a session lost its memory."""
    return (
        f"truecall: {quoted(why, 400)}. Calls are judged all the same; earlier attempts and rests are forgotten, and "
        "what was done in this turn is not confirmed at its end. To see what is known: truecall log"
    )


def unreadable(why: str, do: str = "") -> str:
    """The answer to a payload that cannot be judged."""
    return (
        f"NOT CONFIRMED: truecall could not judge this tool call, because {quoted(why, 500)}. "
        "Do this now: go on with other work, and tell the user that the result of this call was not verified, and "
        f"why. Do not report it as verified.{' ' + quoted(do, 300) if do else ''}\nSaid by truecall, the hook that "
        "checks tool results; the doubt is about the check, not about your work."
    )


def untrusted(path: str, why: str = "") -> str:
    """The answer where a project's contract file was never trusted."""
    cause = f"{path} {why}" if why else f"{path} has not been trusted by a person yet"
    return unreadable(cause, f"The user can mend it with: truecall trust {shell_word(path)}")


def changed_notice(path: str, status: str, why: str = "") -> str:
    """What the person is told, once a session, about a contract file that is not as it was trusted."""
    what, do = {
        "changed": ("was changed since it was trusted", "adopt the change: truecall trust"),
        "deleted": ("was deleted since it was trusted", "take that back: truecall trust --revoke"),
    }[status]
    more = f" ({why})" if why else ""
    return (
        f"truecall: {quoted(path, 500)} {what}{quoted(more, 300)}; the trusted form is enforced. "
        f"To {do} {quoted(shell_word(path), 500)}"
    )


def disagreement(given: str, seen: str) -> str:
    return f"truecall is registered for {given}, but this payload came from {seen}; it was answered as {seen}"


# The launcher's static answers, for any death of Python: no quotes, no backslashes, no percent signs.
DIED = (
    "NOT CONFIRMED: truecall could not check this tool call, because its own program did not end well. "
    "Do this now: go on with other work, and tell the user that the result of this call was not verified; "
    "the user can look into it with: truecall doctor. Do not report this step as verified."
)
DIED_BEFORE = (
    "NOT MADE: the call was not run, because truecall, which has to ask its guards before it, could not be run: its "
    "own program did not end well. Do this now: do not try to get around it; go on with other work, and tell the "
    "user that the call was not made; the user can look into it with: truecall doctor, or switch it off for a while "
    "with: truecall off."
)
DIED_AT_STOP = (
    "truecall could not run at the stop, because its own program did not end well: tell the user that what was "
    "done in this turn was not verified; the user can look into it with: truecall doctor"
)
