"""Our entries in a settings text: found, put in, taken out. Never touches a foreign entry, and refuses a text
that the client would not read, where they would be written and never run."""

from __future__ import annotations

from typing import Any

from truecall_py.clients import jsonc, settings_rules
from truecall_py.clients.jsonc import Document, Node, SettingsError
from truecall_py.clients.registration import BOM, COMMENTS, FLAT, Registration, build_entry, is_by_hand, split_words
from truecall_py.clients.settings_rules import HANDS
from truecall_py.core.record import record


@record(frozen=True)
class Found:
    """One handler of ours: the numbers of its group and of itself in there (0 and alone without groups)."""

    event: str
    group: int
    handler: int
    alone: bool
    command: str


@record(frozen=True)
class Merged:
    """A text with our entries. `pieces` are what went in, in order ("" where one cannot be told by its text
    alone), `created` the members that are there only because of us: "hooks" or "hooks/EVENT"."""

    text: str
    pieces: tuple[str, ...]
    created: tuple[str, ...]


def find_hooks(doc: Document) -> Node | None:
    return doc.root.get("hooks")


def list_handlers(about: Registration, group: Node) -> list[Node]:
    """The handlers of an item below an event."""
    if about.form == FLAT:
        return [group]
    inside = group.get("hooks") if group.kind == "object" else None
    return [member.node for member in inside.members] if inside is not None and inside.kind == "array" else []


def find_command(about: Registration, handler: Node) -> Any:
    node = handler.get(about.command) if handler.kind == "object" else None
    return node.value if node is not None else None


def list_own_handlers(doc: Document, about: Registration) -> list[Found]:
    """Every handler of ours in a text, in order."""
    hooks = find_hooks(doc)
    founds = []
    for event in hooks.members if hooks is not None and hooks.kind == "object" else []:
        for number, group in enumerate(event.node.members if event.node.kind == "array" else []):
            inside = list_handlers(about, group.node)
            for place, handler in enumerate(inside):
                command = find_command(about, handler)
                if split_words(command):
                    founds.append(Found(event.key, number, place, len(inside) == 1, command))
    return founds


def check(doc: Document, about: Registration) -> None:
    """Raises SettingsError for a text that this client does not read as JSON, or in which `hooks` is of another
    shape than entries are put into."""
    why = f"{about.client} does not read a settings file with"
    end = "nothing in it is in effect, hooks included"
    if doc.comments and COMMENTS not in about.reads:
        raise SettingsError(f"{why} comments: {end}", doc.comments[0][0], f"take the comments out, {HANDS}")
    if doc.trailing:
        raise SettingsError(f"{why} a trailing comma: {end}", doc.trailing[0], f"take the comma out, {HANDS}")
    if doc.bom and BOM not in about.reads:
        raise SettingsError(f"{why} {BOM}: {end}", 0, f"save it without one, {HANDS}")
    if doc.root.kind != "object":
        raise SettingsError(f"the file is no JSON object but {name_kind(doc.root)}", doc.root.start, HANDS)
    top = {member.key: member for member in doc.root.members}
    if about.keys and (odd := next((key for key in top if key not in about.keys), None)):
        what = f"{about.client} drops the whole file for a key that it does not know: {odd[:40]!r}"
        raise SettingsError(what, top[odd].at, f"take it out (it may stand beside {' and '.join(about.keys)} alone)")
    hooks = find_hooks(doc)
    around = [(doc.root.start, doc.root.end)] if about.keys else []
    around += [(hooks.start, hooks.end)] if hooks is not None else []
    for at in doc.repeated:
        if any(start <= at < end for start, end in around) or doc.text.startswith('"hooks"', at):
            raise SettingsError("this key is there twice, and one of the two is not read", at, HANDS)
    if hooks is None:
        return
    if hooks.kind != "object":
        raise SettingsError(f"hooks is {name_kind(hooks)}, not an object of events", hooks.start, HANDS)
    for event in hooks.members:
        if event.node.kind != "array" and event.key in about.events:
            raise SettingsError(f"hooks.{event.key} is {name_kind(event.node)}, not a list", event.node.start, HANDS)


def name_kind(node: Node) -> str:
    if node.kind == "scalar":
        return "null" if node.value is None else "a text" if isinstance(node.value, str) else "no object"
    return "an array" if node.kind == "array" else "an object"


def list_cautions(doc: Document, about: Registration, harness: str) -> list[str]:
    """What is in the text that a person should know."""
    warnings = settings_rules.find_cautions(doc, about)
    for path, value in about.off:
        node: Node | None = doc.root
        for key in path.split("."):
            node = node.get(key) if node is not None and node.kind == "object" else None
        if node is not None and node.value is value:
            setting = f"{path} is {str(value).lower()} in this file"
            warnings.append(f"{setting}, so {about.client} runs no hook at all until that is changed")
    hooks = find_hooks(doc)
    for event in hooks.members if hooks is not None and hooks.kind == "object" else []:
        for group in event.node.members:
            for handler in list_handlers(about, group.node):
                if is_by_hand(find_command(about, handler), harness):
                    where = jsonc.place(doc.text, handler.start)
                    warnings.append(f"{where} also registers truecall by hand: remove that entry, or it judges twice")
    return warnings


def merge_entries(text: str, about: Registration, commands: dict[str, str], pieces: tuple[str, ...] = ()) -> Merged:
    """The text with one entry of ours below every event, at the end of its list or where there is one already;
    entries of ours elsewhere are taken out. `pieces` are those of the install before. Raises SettingsError."""
    doc = Document(text)
    check(doc, about)
    settings_rules.refuse(doc, about)
    kept: dict[str, Found] = {}
    for found in list_own_handlers(doc, about):
        if found.alone and found.event in commands:
            kept.setdefault(found.event, found)
    for found in reversed(list_own_handlers(doc, about)):
        if found not in kept.values():
            doc = Document(remove_handler(doc, about, found))
            pieces = ()
    created: list[str] = []
    for event, command in commands.items():
        hooks, value = find_hooks(doc), build_entry(about, command, event)
        listed = hooks.get(event) if hooks is not None else None
        mine = [entry for entry in list_own_handlers(doc, about) if entry.event == event]
        if hooks is None:
            whole = {name: [build_entry(about, commands[name], name)] for name in commands}
            done, piece = jsonc.add_entry(doc, doc.root, "hooks", whole)
            created += ["hooks", *(f"hooks/{name}" for name in commands)]
        elif listed is None:
            done, piece = jsonc.add_entry(doc, hooks, event, [value])
            created.append(f"hooks/{event}")
        elif not mine:
            done, piece = jsonc.add_entry(doc, listed, "", value)
        else:
            node = listed.members[mine[0].group].node
            if node.plain() == value:
                continue
            before = doc.text[node.start : node.end]
            done = jsonc.replace_value(doc, node, value)
            after = done[node.start : len(done) - (len(doc.text) - node.end)]
            pieces = tuple(old.replace(before, after) for old in pieces)
            doc = Document(done)
            continue
        pieces += (piece,)
        doc = Document(done)
    return Merged(doc.text, pieces, tuple(created))


def remove_handler(doc: Document, about: Registration, found: Found) -> str:
    """The text without one handler of ours, and without its group where it was alone in there."""
    hooks = find_hooks(doc)
    assert hooks is not None
    listed = hooks.get(found.event)
    assert listed is not None
    if found.alone:
        return jsonc.remove_entry(doc, listed, found.group)
    inside = listed.members[found.group].node.get("hooks")
    assert inside is not None
    return jsonc.remove_entry(doc, inside, found.handler)


def remove_entries(text: str, about: Registration, created: tuple[str, ...] | None, pieces: tuple[str, ...]) -> str:
    """The text without anything of ours. `created` is None where nobody knows what was there before: then what
    is left empty goes, too. Raises SettingsError."""
    doc = Document(text)
    events = [entry.event for entry in list_own_handlers(doc, about)]
    while mine := list_own_handlers(doc, about):
        doc = Document(remove_handler(doc, about, mine[-1]))
    for name in [*dict.fromkeys(f"hooks/{event}" for event in events), "hooks"] if events else []:
        around = doc.root if name == "hooks" else find_hooks(doc)
        key = name.rpartition("/")[2]
        node = around.get(key) if around is not None and around.kind == "object" else None
        bare = node is not None and not node.members and not doc.comments_in(node.start, node.end)
        if around is not None and bare and (created is None or name in created):
            doc = Document(jsonc.remove_entry(doc, around, around.index(key)))
    exact = text
    for piece in reversed(pieces):
        if not piece or exact.count(piece) != 1:
            return doc.text
        exact = exact.replace(piece, "")
    try:
        same = bool(pieces) and Document(exact).root.plain() == doc.root.plain()
    except SettingsError:
        same = False
    return exact if same else doc.text
