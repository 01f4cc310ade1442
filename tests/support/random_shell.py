"""Random text that looks like a shell program."""

from __future__ import annotations

import random

# What a random shell program is made of.
PIECES = [
    "git push", "a", "if", "then", "fi", "else", "elif", "while", "do", "done", "for x in a b", "case x in",
    "esac", "a)", "(b|c)", ";;", "{", "}", "(", ")", "&&", "||", "|", "&", ";", "\n", "!", "time",
    "[[ a == b ]]", "[[", "]]", "((1))", "$((1+2))", "$(ls)", "`ls`", "\"x $(y)\"", "'q'", ">f", "2>&1",
    "<<E\nx\nE\n", "# c\n", "f()", "function g", "\\\n", "${x:-y}", "<(z)", "X=1", "$'a\\n'", "in",
    "a{b.c}", "-p", "&>f", "<<<w", "until", "((", "$(", "\"", "'", "`", "\\", "${", "\t", "é", "~/a", "*",
    "\r",
]  # fmt: skip


def program(rng: random.Random, most: int) -> str:
    return "".join(rng.choice(PIECES) + rng.choice(("", " ")) for _ in range(rng.randint(1, most)))
