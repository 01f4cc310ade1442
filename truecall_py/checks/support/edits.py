"""The edits that a call sent, and their effect on a text: which were lost, and whether everything else was kept. If a
formatter may have changed the text, there is no verdict. Texts come in the view of `line_endings.read_view`: one
character per byte (UTF-16: per code unit), with line ends unified."""

from __future__ import annotations

from truecall_py.checks.support.lost_write import is_import_only
from truecall_py.core.errors import Unverified
from truecall_py.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Pieces = list[tuple[str, bool]]

# The names that clients give to the parts of an edit.
OLD = ("old_string", "oldString", "old_str")
NEW = ("new_string", "newString", "new_str")
EVERY = ("replace_all", "replaceAll")
MOST = 500  # edits of one call
SUBSETS = 6  # the most edits whose combinations are all tried
CODINGS = ("utf-8", "cp1252", "latin-1")
LANDED, LOST, UNTOLD = "landed", "lost", "untold"


@record(frozen=True)
class Edit:
    """Replaces `old` with `new`, once or everywhere."""

    old: str
    new: str
    every: bool


def parse_edits(args: dict[str, Any]) -> list[Edit]:
    """Return the edits of a call, in order. Raises Unverified if it sent none in a form that can be applied again."""
    items = args.get("edits")
    edits = [edit for item in (items if isinstance(items, list) else [args]) for edit in parse_edit(item)]
    if not edits or (isinstance(items, list) and len(edits) != len(items)):
        raise Unverified("the call sends no edits with an old and a new text that could be applied again", "contract")
    if len(edits) > MOST:
        raise Unverified(f"the call sends more than {MOST} edits", "probe")
    return edits


def parse_edit(item: Any) -> Iterator[Edit]:
    if isinstance(item, dict):
        old, new = (next((item[name] for name in names if name in item), None) for names in (OLD, NEW))
        if isinstance(old, str) and isinstance(new, str):
            yield Edit(old, new, any(item.get(name) is True for name in EVERY))


def find_outcomes(before: str, edits: list[Edit], wide: bool) -> list[Pieces]:
    """Return the possible results of the edits on `before`: (text, whether an edit brought it), in order; several if
    clients differ. Raises Unverified if the old text of an edit is missing."""
    found: list[Pieces] = []
    for coding in CODINGS[: 1 if wide or before.isascii() else None]:
        for every in (False, True):
            for newline in (False, True):
                pieces = apply_edits(before, edits, "" if wide else coding, every, newline)
                if pieces is not None and pieces not in found:
                    found.append(pieces)
    if not found:
        raise Unverified("the text that an edit replaces is not in the file as it was before the call", "probe")
    return found


def is_rest_kept(before: str, after: str, edits: list[Edit], wide: bool) -> bool:
    """Whether `after` contains everything of `before` that no edit touched. Raises Unverified if an old text occurs
    several times and the meant one is unknown."""
    made = find_outcomes(before, edits, wide)
    if any(join_pieces(pieces) == after for pieces in made):
        return True
    each = [(apply_edits(before, edits, coding, False, newline), apply_edits(before, edits, coding, True, newline))
            for coding in ("" if wide else CODINGS[0],) for newline in (False, True)]  # fmt: skip
    clear = [pieces for pieces in made if all(pieces != every or first == every for first, every in each)]
    kept = [pieces for pieces in clear if contains_in_order(list_untouched(pieces), after)]
    if after == before or any(squeeze_spaces(join_pieces(pieces)) == squeeze_spaces(after) for pieces in kept):
        return True
    if any(contains_in_order(list_untouched(pieces), after) for pieces in clear):
        if find_lost_edits(before, after, edits, wide, []):
            return True  # some edits are lost, and the others gave exactly this
        raise Unverified("beside what was kept stands something else than the edits brought", "probe")
    if any(first != every for first, every in each):
        raise Unverified("the text that an edit replaces stands there several times, and which was meant is not said",
                         "probe")  # fmt: skip
    return False


def apply_edits(before: str, edits: list[Edit], coding: str, every: bool, newline: bool) -> Pieces | None:
    """Return the result of one way to apply the edits: an old text that occurs several times is replaced once, or
    (`every`) everywhere; a deletion also removes the line end behind it (`newline`)."""
    pieces: Pieces = [(before, False)]
    for edit in edits:
        old, new = find_spelling(edit.old, coding), find_spelling(edit.new, coding)
        if old is None or new is None:
            return None
        whole = join_pieces(pieces)
        if newline and not new and old and not old.endswith("\n") and old + "\n" in whole:
            old += "\n"
        places = find_positions(old, whole, edit.every or every)
        if not places:
            return None
        pieces = cut_text(pieces, places, len(old), new)
    return pieces


def find_spelling(text: str, coding: str) -> str | None:
    """Return `text` in the view, None if the coding lacks its characters. Without a coding, it is UTF-16,
    unchanged."""
    text = text.replace("\r\n", "\n")
    if not coding:
        return text
    try:
        return text.encode(coding, "surrogatepass" if coding == "utf-8" else "strict").decode("latin-1")
    except UnicodeEncodeError:
        return None


def find_positions(old: str, whole: str, every: bool) -> list[int]:
    """Return the positions of `old`; an empty one means the whole of an empty text."""
    if not old:
        return [] if whole else [0]
    places = []
    at = whole.find(old)
    while at >= 0:
        places.append(at)
        at = whole.find(old, at + len(old)) if every else -1
    return places


def cut_text(pieces: Pieces, places: list[int], length: int, new: str) -> Pieces:
    """Return the pieces with `new` in place of `length` characters at each of the ordered positions."""
    made: Pieces = []
    start, number = 0, 0
    for text, ours in pieces:
        end, at = start + len(text), start
        while number < len(places):
            here = places[number]
            if here > end or (here == end and length):
                break
            if here >= at:
                made += [(text[at - start : here - start], ours), (new, True)]
            at = min(here + length, end)
            if here + length > end:
                break  # it continues in the next piece
            number += 1
        made.append((text[at - start :], ours))
        start = end
    return [piece for piece in made if piece[0] or piece[1]]


def join_pieces(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


def list_untouched(pieces: Pieces) -> list[str]:
    """Return the pieces of the old text that no edit touched, in order. The first and the last may be empty."""
    found = [""]
    touching = False
    for text, ours in pieces:
        if ours:
            touching = True
        elif touching:
            found.append(text)
            touching = False
        else:
            found[-1] += text
    return [*found, ""] if touching else found


def contains_in_order(stretches: list[str], after: str) -> bool:
    """Whether `after` contains all pieces in order, the first at its start and the last at its end."""
    if len(stretches) == 1:
        return after == stretches[0]
    first, *middle, last = stretches
    if not after.startswith(first):
        return False
    at = len(first)
    for stretch in middle:
        at = after.find(stretch, at)
        if at < 0:
            return False
        at += len(stretch)
    return len(after) - len(last) >= at and after.endswith(last)


def squeeze_spaces(text: str) -> str:
    """Return the text without white space."""
    return "".join(text.split())


def trim_lines(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in text.rstrip("\n").split("\n"))


def keep_letters(text: str) -> str:
    """Return only the letters and digits, which no formatter removes."""
    return "".join(character for character in text if character.isalnum() or character >= "\x80")


def find_states(before: str, after: str, edits: list[Edit], wide: bool) -> list[str]:
    """Return LANDED, LOST or UNTOLD for each edit. Raises Unverified."""
    wholes = [join_pieces(pieces) for pieces in find_outcomes(before, edits, wide)]
    if any(after == whole or is_same_text(after, whole, before) for whole in wholes):
        return [LANDED] * len(edits)
    left_out = find_lost_edits(before, after, edits, wide, wholes)
    if left_out:
        return [LOST if number in left_out else LANDED for number in range(len(edits))]
    codings = [""] if wide else [CODINGS[0]] if is_utf8(before) else list(CODINGS[1:])
    made = [(coding, apply_edits(before, edits, coding, False, False)) for coding in codings]
    wholes_by = [(coding, join_pieces(pieces)) for coding, pieces in made if pieces is not None]
    columns = [{find_state(before, after, whole, edit, coding) for coding, whole in wholes_by} for edit in edits]
    return [column.pop() if len(column) == 1 else UNTOLD for column in columns]


def is_utf8(view: str) -> bool:
    """Whether the bytes of a view are UTF-8."""
    try:
        view.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return False
    return True


def is_same_text(after: str, whole: str, before: str) -> bool:
    """Whether two texts differ only in blanks at the ends of lines, which clients strip; not if the edit changed no
    more than that."""
    return trim_lines(after) == trim_lines(whole) != trim_lines(before)


def find_lost_edits(before: str, after: str, edits: list[Edit], wide: bool, wholes: list[str]) -> set[int]:
    """Return the fewest edits without which the others give exactly `after`. Empty without any, or if a formatter
    that removes unused imports would leave the same."""
    numbers = range(len(edits))
    sets: list[set[int]] = [{number} for number in numbers]
    if len(edits) <= SUBSETS:
        every = [{number for number in numbers if bits >> number & 1} for bits in range(1, 1 << len(edits))]
        sets = sorted(every, key=len)
    elif after == before:
        sets = [set(numbers)]
    for left_out in sets:
        rest = [edit for number, edit in enumerate(edits) if number not in left_out]
        try:
            made = [join_pieces(pieces) for pieces in find_outcomes(before, rest, wide)] if rest else [before]
        except Unverified:
            continue
        if any(whole not in wholes and (after == whole or is_same_text(after, whole, before)) for whole in made):
            harmless = all(has_imports_only(edits[number]) or is_idle(edits[number]) for number in left_out)
            return set() if harmless else left_out
    return set()


def is_idle(edit: Edit) -> bool:
    """Whether an edit changes only blanks at the ends of lines, which clients strip."""
    return trim_lines(edit.old) == trim_lines(edit.new)


def has_imports_only(edit: Edit) -> bool:
    """Whether an edit adds only import lines."""
    return bool(edit.new) and is_import_only(edit.new.encode("utf-8", "replace"), edit.old.encode("utf-8", "replace"))


def is_doubled(new: str, after: str, whole: str) -> bool:
    """Whether a line of an edit occurs more often in `after` than it should: the edit may have been applied twice."""
    held, made = after.split("\n"), whole.split("\n")
    return any(keep_letters(line) and held.count(line) > made.count(line) for line in new.split("\n"))


def find_state(before: str, after: str, whole: str, edit: Edit, coding: str) -> str:
    """Return the state of one edit in a file that something else changed too."""
    old, new = find_spelling(edit.old, coding) or "", find_spelling(edit.new, coding) or ""
    if new and new not in whole:
        return LANDED  # a later edit of the same call replaced it
    gone = after.count(old) <= whole.count(old) if old else True
    if gone and (whole.count(new) > before.count(new) if new else whole.count(old) < before.count(old)) and (
        after.count(new) == whole.count(new) and not is_doubled(new, after, whole) if new else True
    ):
        return LANDED
    ours, theirs = old.split("\n"), new.split("\n")
    removed = keep_letters("".join(line for line in ours if line not in theirs))
    added = keep_letters("".join(line for line in theirs if line not in ours))
    then, now = keep_letters(before), keep_letters(after)
    if removed and added and added not in now and removed in now and now.count(removed) >= then.count(removed):
        return LOST
    return UNTOLD
