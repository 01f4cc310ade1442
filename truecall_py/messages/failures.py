"""The texts about truecall's own failures, for the agent and the person. Each says what is unverified and what to do;
none lets an unverified call sound like a verified one."""

from __future__ import annotations

from truecall_py.core.redaction import quote
from truecall_py.messages.corrections import quote_shell_word


def render_snapshot_notice(state: str) -> str:
    """The person's notice that truecall cannot store snapshots; `state` is the state folder."""
    return (
        f"truecall: cannot write snapshots to {quote(quote_shell_word(state), 300)}. Until that is fixed, checks "
        "that compare with the state before a call are unverified. To find the cause: truecall doctor"
    )


def render_ledger_notice(why: str) -> str:
    """The person's notice that the ledger cannot be used."""
    return (
        f"truecall: {quote(why, 400)}. Calls are still judged, but attempts, cooldowns, duplicates and the stop "
        "gate do not work until that is fixed. To find the cause: truecall doctor"
    )


def render_lost_ledger_notice(why: str) -> str:
    """The person's notice that the ledger lost a session's events."""
    return (
        f"truecall: {quote(why, 400)}. Calls are still judged, but earlier attempts and cooldowns are lost, and the "
        "calls of this turn stay unverified at its end. To see what is left: truecall log"
    )


def render_unjudged(why: str, do: str = "") -> str:
    """The agent's answer to a call that truecall cannot judge; `do`: one more sentence, what the user can do."""
    return (
        f"NOT CONFIRMED: truecall could not judge this tool call: {quote(why, 500)}. "
        "Do this now: continue with other work, and tell the user that the result of this call is unverified, and "
        f"why. Do not report it as verified.{' ' + quote(do, 300) if do else ''}\nFrom truecall, the hook that "
        "checks tool results; the problem is in the check, not in your work."
    )


def render_untrusted(path: str, why: str = "") -> str:
    """The agent's answer where nobody has trusted the project's contract file yet."""
    cause = f"{path} {why}" if why else f"no person has trusted {path} yet"
    return render_unjudged(cause, f"The user can fix it with: truecall trust {quote_shell_word(path)}")


def render_changed_notice(path: str, status: str, why: str = "") -> str:
    """The person's notice, once a session, that a contract file is not as it was trusted (`status`: changed or
    deleted)."""
    event, do = {
        "changed": ("has changed since it was trusted", "accept the change: truecall trust"),
        "deleted": ("was deleted after it was trusted", "stop enforcing it: truecall trust --revoke"),
    }[status]
    more = f" ({why})" if why else ""
    return (
        f"truecall: {quote(path, 500)} {event}{quote(more, 300)}; the trusted version is still enforced. "
        f"To {do} {quote(quote_shell_word(path), 500)}"
    )


def render_client_mismatch(given: str, seen: str) -> str:
    """The person's notice that a hook is registered for another client than the one that called it."""
    return f"truecall is registered for {given}, but this payload came from {seen}; truecall answered as {seen}"


# The launcher's static answers, for any death of Python: no quotes, no backslashes, no percent signs.
DIED = (
    "NOT CONFIRMED: truecall could not check this tool call, because its program failed. "
    "Do this now: continue with other work, and tell the user that the result of this call is unverified; "
    "the user can find the cause with: truecall doctor. Do not report this step as verified."
)
DIED_BEFORE = (
    "NOT MADE: the call was not run, because truecall must check its guards first and the program of truecall "
    "failed. Do this now: do not work around it; continue with other work, and tell the user that the call was not "
    "made; the user can find the cause with: truecall doctor, or turn truecall off for a while with: truecall off."
)
DIED_AT_STOP = (
    "truecall could not run at the stop, because its program failed: tell the user that the calls of this turn are "
    "unverified; the user can find the cause with: truecall doctor"
)
