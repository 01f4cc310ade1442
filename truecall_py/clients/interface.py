"""What the folder of a client must hold, declared once, and what one still lacks.

REQUIRED are the parts that every client has. A client has an OPTIONAL module where it applies, and then all parts of
that module. It may leave out each of the SINGLE parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from truecall_py.clients import find_part
from truecall_py.clients.registration import Registration
from truecall_py.core.record import record


@record(frozen=True)
class Part:
    """The name `name` in the module `module` of a client's folder: a value of the type `kind`, that `what` tells."""

    module: str
    name: str
    kind: type
    what: str


REQUIRED = (
    Part("hook", "NAME", str, "the client's name, as it is in clients.NAMES"),
    Part("hook", "HANDLED", tuple, "the events that tell of a call that ended"),
    Part("hook", "KNOWN", frozenset, "the other events that the client has"),
    Part("hook", "STATIC", dict, "the form of the launcher's answer to each event where Python died"),
    Part("hook", "PROJECT_ENV", str, 'the variable in which the client names the project\'s folder, "" for none'),
    Part("hook", "recognises", FunctionType, "whether a payload is this client's, and nobody else's"),
    Part("hook", "parse", FunctionType, "the call that a payload tells of"),
    Part("hook", "render", FunctionType, "the answer in the client's own dialect"),
    Part("registration", "REGISTRATION", Registration, "how the client is found, and how a hook is registered"),
    Part("samples", "build_self_test", FunctionType, "the payload with which `doctor` tests a hook"),
)
OPTIONAL = (
    Part("trust", "FILE", str, "the file, beside the person's registration, in which it keeps that it trusts a hook"),
    Part("trust", "name_hooks_file", FunctionType, "how that file names a file of hooks"),
    Part("trust", "refuse_second", FunctionType, "raises where that file registers hooks itself"),
    Part("trust", "grant", FunctionType, "that file with the trust that our hook needs"),
    Part("trust", "revoke", FunctionType, "that file without it"),
    Part("trust", "refresh", FunctionType, "the pieces that were added to it, as they are now"),
    Part("trust", "paste", FunctionType, "the registration in the form that this file takes"),
    Part("trust", "remarks", FunctionType, "what a person must do besides"),
    Part("transcript", "fits", FunctionType, "whether a line is one of its transcripts"),
    Part("transcript", "Reader", type, "makes calls and messages of such lines, for `replay`"),
    Part("call_outcomes", "read_record", FunctionType, "how the calls ended that a line of its transcript is about"),
    Part("call_outcomes", "SUCCESS_IS_END", bool, "whether nothing of a call goes on once its success is recorded"),
    Part("exit_codes", "read_outcome", FunctionType, "the exit code of a call that its payload does not hold"),
)
SINGLE = (
    Part("doctor", "list_folders_above", FunctionType, "the folders above a project whose registrations count in it"),
    Part("doctor", "list_further_files", FunctionType, "the other files with hooks beside that of a registration"),
    Part("doctor", "list_plugin_hooks", FunctionType, "the files with hooks of installed plugins"),
    Part("doctor", "read_handlers", FunctionType, "our commands in a file that is not its usual one"),
    Part("doctor", "find_faults", FunctionType, "what keeps it from running a hook, beyond what all clients share"),
    Part("doctor", "trusts_folder", FunctionType, "whether it runs a project's hooks, and the file that says so"),
    Part("doctor", "find_switches", FunctionType, "what switches its hooks off, where REGISTRATION.off is not all"),
    Part("doctor", "read_environment", FunctionType, "what it adds to the environment of a hook"),
    Part("doctor", "wrap_command", FunctionType, "the line that it gives to the shell for a command"),
)
# (module, a name in it that a client may leave out) -> the names that it must then have beside it.
TOGETHER = {
    ("hook", "BEFORE"): ("parse_before", "refuse"),  # the event before a call
    ("hook", "parse_stop"): ("hold",),  # the stop that a payload announces
    ("hook", "ONLY"): ("parse_refused",),  # events that the launcher reads first, and the calls in them
    ("doctor", "read_environment"): ("wrap_command",),
}


def find_faults(name: str) -> Iterator[str]:
    """What keeps a client's folder from being whole, each with the file that it is about."""
    folder = f"truecall_py/clients/{name.replace('-', '_')}"
    modules: dict[str, ModuleType | None] = {}
    for part in (*REQUIRED, *OPTIONAL, *SINGLE):
        file = f"{folder}/{part.module}.py"
        try:
            if part.module not in modules:
                modules[part.module] = find_part(name, part.module)
        except (ImportError, TypeError, NameError, AttributeError) as error:
            modules[part.module] = None
            yield f"{file}: it cannot be loaded: {error}"
            continue
        module = modules[part.module]
        value = getattr(module, part.name, None)
        needed = part in REQUIRED or (module is not None and part in OPTIONAL) or value is not None
        if needed and not isinstance(value, part.kind):
            fault = "is missing" if value is None else f"is no {part.kind.__name__}"
            yield f"{file}: {part.name} {fault} ({part.what})"
    for (module_name, given), beside in TOGETHER.items():
        for other in beside if hasattr(modules[module_name], given) else ():
            if not hasattr(modules[module_name], other):
                yield f"{folder}/{module_name}.py: {other} is missing, which {given} needs beside it"
    hook, registration = modules["hook"], getattr(modules["registration"], "REGISTRATION", None)
    if hook is not None:
        yield from find_hook_faults(f"{folder}/hook.py", name, hook)
    if isinstance(registration, Registration):
        if registration.name != name:
            yield f"{folder}/registration.py: REGISTRATION.name is {registration.name!r}, not {name!r}"
        for event in registration.events:
            if event not in (*getattr(hook, "HANDLED", (event,)), *getattr(hook, "KNOWN", (event,))):
                yield f"{folder}/hook.py: {event} is in neither HANDLED nor KNOWN, but registration.py names it"


def find_hook_faults(file: str, name: str, hook: Any) -> Iterator[str]:
    """Whether what a client's module `hook` declares fits together."""
    if getattr(hook, "NAME", name) != name:
        yield f"{file}: NAME is {hook.NAME!r}, not {name!r}"
    for event in getattr(hook, "HANDLED", ()):
        if event in getattr(hook, "KNOWN", ()):
            yield f"{file}: {event} is in HANDLED and in KNOWN"
        if event not in getattr(hook, "STATIC", {event: ""}):
            yield f"{file}: STATIC has no {event}, which is in HANDLED"
