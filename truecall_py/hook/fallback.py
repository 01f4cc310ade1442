"""Answers for a call that could not be judged, in the format of the client that asked. Never silent, and never a
pass."""

from __future__ import annotations

import os

from truecall_py.core.types import Correction, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from truecall_py.hook.stdin import Options


def answer_unjudged(options: Options, reason: str, do: str = "", client: ModuleType | None = None) -> Reply:
    """Returns the reply that says why nothing was judged (`reason`) and how to fix it (`do`). Uses the format of
    `client`, else of the registered client, else of the default one. At a stop it holds the agent once. Before a call
    that guards may be about it refuses the call."""
    from truecall_py.clients import DEFAULT, NAMES, load_hook
    from truecall_py.messages.failures import render_unjudged

    if options.stop is not None:
        return hold_agent(load_hook(options.stop.harness), options.stop.event, options.stop.active, reason)
    client = client or load_hook(options.harness if options.harness in NAMES else DEFAULT)
    if options.active is not None and hasattr(client, "hold"):
        return hold_agent(client, options.event, options.active, reason)
    if options.event == getattr(client, "BEFORE", "") and may_be_guarded(client, options):
        from truecall_py.messages.guards import render_unasked

        refusal: Reply = client.refuse(options.event, render_unasked(reason, do), ())
        return refusal
    text = render_unjudged(reason, do)
    if options.event in client.KNOWN:  # not about a finished call: notify the user
        reply: Reply = client.render(options.event, None, None, (text,))
        return reply
    event = options.event if options.event in client.HANDLED else client.HANDLED[0]
    correction: Reply = client.render(event, None, Correction(text, False), ())
    return correction


def may_be_guarded(client: ModuleType, options: Options) -> bool:
    """Tells whether a guard may be about the call that could not be judged. If that cannot be determined, the answer
    is whether any trusted contract refuses calls."""
    from truecall_py.core import paths
    from truecall_py.trust import store

    try:
        if options.announced is not None and not options.is_paused():
            state = options.state or paths.find_state_folder()
            session = paths.find_project_folder(client.PROJECT_ENV)
            sources = store.load_sources(session, state, paths.find_user_file(), options.contracts)
            return any(source.may_refuse(options.announced) for source in sources)
    except BaseException:  # then any refusing guard counts
        options.announced = None
    marked = os.path.exists(os.path.join(options.state or paths.find_state_folder(), store.GUARDS))
    return marked and options.announced is None and not options.is_paused()


def hold_agent(client: ModuleType, event: str, active: bool, reason: str) -> Reply:
    """Returns the reply to an agent that wants to stop: holds it once with `reason`, and notifies the user."""
    from truecall_py.messages.stop import render_unverified_notice, render_unverified_turn

    text = "" if active else render_unverified_turn(reason, ())
    reply: Reply = client.hold(event, text, (render_unverified_notice(reason),))
    return reply
