"""The answers where nothing could be judged, in the dialect of whoever asked. Never silence, and never "all is
well"."""

from __future__ import annotations

import os

from truecall_py.core.types import Correction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from truecall_py.core.types import Reply
    from truecall_py.hook.stdin import Options


def answer(options: Options, why: str, do: str = "", harness: ModuleType | None = None) -> Reply:
    """The answer where nothing could be judged: in the dialect of the harness that is known, else in the one
    that most understand."""
    from truecall_py.clients import DEFAULT, NAMES, load_hook
    from truecall_py.messages.failures import render_unjudged

    if options.stop is not None:
        return at_stop(load_hook(options.stop.harness), options.stop.event, options.stop.active, why)
    harness = harness or load_hook(options.harness if options.harness in NAMES else DEFAULT)
    if options.active is not None and hasattr(harness, "hold"):
        return at_stop(harness, options.event, options.active, why)
    if options.event == getattr(harness, "BEFORE", "") and guarded_anyway(harness, options):
        from truecall_py.messages.guards import render_unasked

        refusal: Reply = harness.refuse(options.event, render_unasked(why, do), ())
        return refusal
    text = render_unjudged(why, do)
    if options.event in harness.KNOWN:  # one that is not about a finished call: the person is told
        reply: Reply = harness.render(options.event, None, None, (text,))
        return reply
    event = options.event if options.event in harness.HANDLED else harness.HANDLED[0]
    correction: Reply = harness.render(event, None, Correction(text, False), ())
    return correction


def guarded_anyway(harness: ModuleType, options: Options) -> bool:
    """Whether guards are to be asked about the call that could not be judged, as far as that can be told."""
    from truecall_py.core import paths
    from truecall_py.trust import store

    try:
        if options.announced is not None and not options.off():
            state, session = options.state or paths.state(), paths.anchor(harness.PROJECT_ENV)
            sources = store.sources(session, state, paths.user_file(), options.contracts)
            return any(source.refuses(options.announced) for source in sources)
    except BaseException:  # then it counts whether there are any
        options.announced = None
    marked = os.path.exists(os.path.join(options.state or paths.state(), store.GUARDS))
    return marked and options.announced is None and not options.off()


def at_stop(harness: ModuleType, event: str, active: bool, why: str) -> Reply:
    """The same for an agent that wants to stop: it is held once, to tell the person."""
    from truecall_py.messages.stop import render_unverified_notice, render_unverified_turn

    text = "" if active else render_unverified_turn(why, ())
    reply: Reply = harness.hold(event, text, (render_unverified_notice(why),))
    return reply
