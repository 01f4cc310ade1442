"""README, docs and the pages beside them are plain technical English: short sentences, and none of the phrases that the
style of this project excludes."""

import os
import re

import pytest
from support.console_pages import ROOT

LONGEST = 35  # words in a sentence
PHRASES = [
    r"that which", r"of which", r"so is", r"(?:is|are|was|were) told", r"tells? of", r"let be", r"stands? open", r"stood open",
    r"stands? behind", r"stood behind", r"mend(?:s|ed|ing)?", r"(?:take|takes|took|taken) down", r"the world of then",
    r"nobody can tell", r"whoever", r"\*not yet\*",
]  # fmt: skip
FORBIDDEN = re.compile(rf"(?<![\w*])(?:{'|'.join(PHRASES)})(?![\w*])", re.I)
# "What was tried is remembered": a relative clause as the subject. A question is none, nor a label.
RELATIVE = re.compile(r"What\b[^?:]*$")


def pages() -> list[str]:
    found = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(found)


def sentences(text: str) -> list[str]:
    """The sentences of a page, without code, tables, headings, comments and the targets of links. Code inside a sentence
    is one word."""
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"``.+?``|`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    units: list[str] = [""]
    for line in text.split("\n"):
        line = line.strip()
        if not line or line.startswith(("#", "|", "---", "!!!")):
            units.append("")
        elif re.match(r"(?:[-*+>]|\d+\.) ", line):
            units.append(re.sub(r"^(?:[-*+>]|\d+\.) +", "", line))
        else:
            units[-1] = f"{units[-1]} {line}".strip()
    ends = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)[\"*_)]*\s+")
    return [sentence.strip("*_ ") for unit in units for sentence in ends.split(unit) if sentence]


def faults(text: str) -> list[str]:
    found = []
    for sentence in sentences(text):
        words = len(re.findall(r"[^\W_][\w'’.-]*", sentence))
        if words > LONGEST:
            found.append(f"{words} words: {sentence}")
        found += [f"{match[0]!r}: {sentence}" for match in FORBIDDEN.finditer(sentence)]
        if RELATIVE.match(sentence):
            found.append(f"a relative clause as the subject: {sentence}")
    return found


@pytest.mark.parametrize("page", pages())
def test_a_page_is_plain_english(page: str) -> None:
    """No sentence is over 35 words, and none holds an excluded phrase."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        found = faults(file.read())
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A tool is paused.", 0),
        ("The agent is told.", 1),
        ("What was tried is remembered.", 1),
        ("What is a contract?", 0),
        ("`what is told` in code", 0),
        ("Windows is *not yet* there.", 1),
        ("A recommendation, amended.", 0),
        ("- " + "word " * 36, 1),
        ("- " + "word " * 35, 0),
        ("| " + "word " * 40 + "|", 0),
        ("Word " * 20 + "ends. truecall " + "word " * 20, 0),
        ("Word " * 20 + "(e.g. " + "word " * 20 + ").", 1),
        ("one two. " + "Word " * 20 + ". " + "Word " * 20 + ".", 0),
    ],
)
def test_the_test_sees(text: str, count: int) -> None:
    """The rules themselves, on sentences that keep or break one."""
    assert len(faults(text)) == count
