"""What would keep a client from running the hooks of a settings file, told from the file's text: values of a kind for
which it drops the whole file, or every hook in it, in silence. Each row was seen with the real client; what nobody
saw fail is let pass, so that a file that a client reads is never called wrong. Never reads or writes a file."""

from __future__ import annotations

from truecall_py.clients.jsonc import Document, Node, SettingsError, place
from truecall_py.clients.registration import Registration, split_words
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Kind = tuple[str, Callable[[Any], bool]]

HANDS = "fix it there and run this again"


@record(frozen=True)
class Rule:
    """What a client asks of the value of `key` (dots lead into objects): that it `fits`, which `must` says. `needed`
    where it may not be missing, `only` the versions that alone ask for it, "" for all that were seen."""

    key: str
    must: str
    fits: Callable[[Any], bool]
    needed: bool = False
    only: str = ""


@record(frozen=True)
class SettingsRules:
    """What one client asks of its settings file. `events` are those whose entries it looks at, () for the ones that
    we register; `handlers` are the rules of each type of hook, `shared` those of every type."""

    loss: str = ""  # what it does where a hook or its group breaks a rule
    settings: tuple[Rule, ...] = ()
    events: tuple[str, ...] = ()
    event: tuple[Rule, ...] = ()
    group: tuple[Rule, ...] = ()
    shared: tuple[Rule, ...] = ()
    handlers: tuple[tuple[str, tuple[Rule, ...]], ...] = ()
    only: str = ""  # the versions that alone have this loss
    idle: bool = False  # a group without hooks is not looked at
    strict: bool = False  # a text must be one that UTF-8 can hold, and nothing may be nested deeper than DEEPEST


@record(frozen=True)
class Fault:
    """One value that a client does not take. `ours` where it is in an entry that `install` writes anew."""

    what: str
    offset: int
    only: str = ""
    hooks: bool = False
    ours: bool = False

    @property
    def refused(self) -> bool:
        """Whether `install` writes nothing beside it: it would never run, or not in every version."""
        return not self.ours and (self.hooks or not self.only)


# -- kinds of values -----------------------------------------------------------------------------------------

TEXT: Kind = ("a text", lambda value: isinstance(value, str))
SWITCH: Kind = ("true or false", lambda value: isinstance(value, bool))
NUMBER: Kind = ("a number", lambda value: number(value))
LIST: Kind = ("a list", lambda value: isinstance(value, list))
OBJECT: Kind = ("an object", lambda value: isinstance(value, dict))
TEXTS: Kind = ("a list of texts", lambda value: isinstance(value, list) and texts(value))
PAIRS: Kind = ("an object of texts", lambda value: isinstance(value, dict) and texts([*value.values()]))
DAYS: Kind = ("a whole number above 0", lambda value: number(value) and 1 <= value < 2**53 and value == int(value))
SECONDS: Kind = ("a number above 0", lambda value: number(value) and 0 < value < float("inf"))
COUNT: Kind = ("a whole number from 0 below 2^63", lambda value: type(value) is int and 0 <= value < 2**63)
URL: Kind = ("a url with a host", lambda value: isinstance(value, str) and is_url(value))


def or_null(kind: Kind) -> Kind:
    return f"{kind[0]} or null", lambda value: value is None or kind[1](value)


def one_of(*names: str) -> Kind:
    must = f"one of {', '.join(names)}" if len(names) > 1 else f'"{names[0]}"'
    return must, lambda value: isinstance(value, str) and value in names


def texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_url(url: str) -> bool:
    """Whether a text names a scheme and, below http, a host: the least of what any client asks."""
    scheme, colon, rest = url.strip().partition(":")
    host = rest.lstrip("/\\")
    return bool(colon) and (scheme.lower() not in ("http", "https") or host[:1] not in ("", "?", "#"))


def show_value(value: Any) -> str:
    """A value in a person's words. A text is not shown: it may be a secret."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return str(value) if len(str(value)) < 25 and "inf" not in str(value) else "a huge number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def ask(kind: Kind, keys: str, needed: bool = False, only: str = "") -> tuple[Rule, ...]:
    """The same rule for several keys."""
    return tuple(Rule(key, *kind, needed, only) for key in keys.split())


# For clients that take whatever JavaScript counts as false for no matcher at all.
MATCHER = Rule("matcher", "a text", lambda value: isinstance(value, str) or value in (None, False, 0))
DEEPEST = 127  # levels of nesting, in a strict client


# -- what a text says ------------------------------------------------------------------------------------------


def find_faults(doc: Document, about: Registration) -> Iterator[Fault]:
    """Every value in a settings text that its client was seen not to take, in no order."""
    rules = about.rules
    if rules is None or doc.root.kind != "object":
        return
    for what, offset, rule in list_broken_rules(doc.root, rules.settings):
        who = rule.only or about.client
        yield Fault(f"{what}, for which {who} reads nothing of this file, hooks included", offset, rule.only)
    hooks = find_member(doc.root, "hooks")
    if rules.strict:
        described = find_member(doc.root, "description")
        whole = [] if described is None else find_unreadable(described, 2)
        names = find_unnamed_keys(hooks) if hooks is not None else []
        for what, offset in (*whole, *names):
            yield Fault(f"{what}, for which {about.client} {rules.loss}", offset, hooks=True)
    for event in hooks.members if hooks is not None and hooks.kind == "object" else ():
        if event.key in (rules.events or about.events):
            yield from find_event_faults(rules, about, event.key, event.node)


def refuse(doc: Document, about: Registration) -> None:
    """Raises SettingsError for a text in which an entry of ours would never run."""
    for fault in find_faults(doc, about):
        if fault.refused:
            raise SettingsError(fault.what, fault.offset, HANDS)


def find_cautions(doc: Document, about: Registration) -> list[str]:
    """What one version alone does not take, and `install` lets be."""
    of_person = [fault for fault in find_faults(doc, about) if not fault.refused and not fault.ours]
    return [f"{place(doc.text, fault.offset)}: {fault.what}" for fault in of_person]


def find_event_faults(rules: SettingsRules, about: Registration, event: str, node: Node) -> Iterator[Fault]:
    """The faults of the entries below one event."""

    def fault(what: str, offset: int, only: str = "", ours: bool = False) -> Fault:
        only = only or rules.only
        return Fault(f"{what}, for which {only or about.client} {rules.loss}", offset, only, True, ours)

    for what, offset, rule in list_broken_rules(node, rules.event, f"hooks.{event}"):
        yield fault(what, offset, rule.only)
    for group in (entry.node for entry in node.members) if node.kind == "array" else ():
        inside = find_member(group, "hooks")
        listed = [entry.node for entry in inside.members] if inside is not None and inside.kind == "array" else []
        if rules.idle and not listed:
            continue
        mine = [bool(split_words(find_text(entry, about.command))) for entry in listed]
        whole = bool(mine) and all(mine)  # then `install` writes the group anew
        name = f"this entry of {event}"
        if rules.strict and group.kind == "scalar":
            yield fault(f"{name} is {show_value(group.value)}, not an object", group.start)
        for what, offset, rule in list_broken_rules(group, rules.group, name):
            yield fault(what, offset, rule.only, whole)
        for what, offset in find_strict_faults(rules, group):
            yield fault(f"in {name}, {what}", offset, ours=whole)
        for handler, ours in zip(listed, mine, strict=True) if rules.handlers else ():
            for what, offset, only in find_handler_faults(rules, about, handler, f"this hook of {event}"):
                yield fault(what, offset, only, ours)


def find_handler_faults(
    rules: SettingsRules, about: Registration, node: Node, name: str
) -> Iterator[tuple[str, int, str]]:
    """(what, where, versions) of one hook."""
    kind = find_text(node, "type")
    if node.kind != "object":
        yield f"{name} is {show_value(node.plain())}, not an object", node.start, ""
    elif kind not in about.types:
        yield f"{name} has a type that is none of {', '.join(about.types)}", node.start, ""
    else:
        for what, offset, rule in list_broken_rules(node, (*dict(rules.handlers).get(kind, ()), *rules.shared), name):
            yield what, offset, rule.only
        for what, offset in find_unreadable(node, 6) if rules.strict else ():
            yield f"in {name}, {what}", offset, ""


def list_broken_rules(node: Node, asked: tuple[Rule, ...], name: str = "") -> Iterator[tuple[str, int, Rule]]:
    """(what, where, rule) of each rule that an object breaks, the first of a key only. `name` is the object's."""
    seen: set[str] = set()
    for rule in asked:
        above, _, last = rule.key.rpartition(".")
        around: Node | None = node
        for key in above.split(".") if above else ():
            around = find_member(around, key) if around is not None else None
        value = find_member(around, last) if around is not None and rule.key else around
        if rule.key in seen or around is None or (rule.key and around.kind != "object"):
            continue
        owner = name or above
        if value is None:
            what = f"{owner} has no {last}" if rule.needed else ""
        else:
            own = "".join((f"{last} of {name}" if rule.key else name) if name else rule.key)
            what = "" if rule.fits(value.plain()) else f"{own} is {show_value(value.plain())}, not {rule.must}"
        if what:
            seen.add(rule.key)
            yield what, (value or around).start, rule


def find_strict_faults(rules: SettingsRules, group: Node) -> Iterator[tuple[str, int]]:
    """What a strict client does not read of a group itself: its keys, and its matcher."""
    if rules.strict and group.kind == "object":
        yield from find_unnamed_keys(group)
        matcher = find_member(group, "matcher")
        yield from find_unreadable(matcher, 5) if matcher is not None else ()


def find_unnamed_keys(node: Node) -> list[tuple[str, int]]:
    """The keys of an object that UTF-8 cannot hold."""
    return [("a key is half a letter (a lone surrogate)", entry.at) for entry in node.members if is_halved(entry.key)]


def find_unreadable(node: Node, level: int) -> Iterator[tuple[str, int]]:
    """What a strict client does not read of a value at that level: the first text that is half a letter, or the
    first level that is too deep."""
    if node.kind == "scalar":
        if is_halved(node.value):
            yield "a text holds half a letter (a lone surrogate)", node.start
    elif level > DEEPEST:
        yield f"this is nested deeper than {DEEPEST} levels", node.start
    else:
        yield from find_unnamed_keys(node)
        for entry in node.members:
            yield from find_unreadable(entry.node, level + 1)


def is_halved(value: Any) -> bool:
    return isinstance(value, str) and any("\ud7ff" < letter < "\ue000" for letter in value)


def find_member(node: Node, key: str) -> Node | None:
    """The value of a key, the last where it is there twice, as the clients have it."""
    return next((entry.node for entry in reversed(node.members) if node.kind == "object" and entry.key == key), None)


def find_text(node: Node, key: str) -> str:
    """The text below a key, "" for anything else."""
    value = find_member(node, key)
    return value.value if value is not None and isinstance(value.value, str) else ""
