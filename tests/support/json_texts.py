"""Random JSON values, and texts of them in many layouts."""

from __future__ import annotations

import json
import random


def value(dice: random.Random, depth: int, top: bool = False) -> object:
    kind = "object" if top else dice.choice(["object", "array", "text", "number", "other"][0 if depth else 2 :])
    size = dice.randrange(4)
    if kind == "object":
        return {dice.choice("abcdefgh") + str(number): value(dice, depth - 1) for number in range(size)}
    if kind == "array":
        return [value(dice, depth - 1) for _ in range(size)]
    if kind == "text":
        return dice.choice(["", "x", "// no comment", "/* no */", 'a"b\\', "\u00fc\u2028\n", "{[,]}"])
    return dice.choice([0, -1.5, 10**20]) if kind == "number" else dice.choice([True, False, None])


def written(dice: random.Random, plain: object, prefix: str, unit: str, comments: bool) -> str:
    """A value as some tool or person may have written it."""

    def remark() -> str:
        if not comments or dice.random() < 0.8:
            return ""
        return dice.choice([" /* r */", f" // r\n{prefix}"])

    if not isinstance(plain, (dict, list)) or (not plain and dice.random() < 0.7):
        return json.dumps(plain, ensure_ascii=dice.random() < 0.5)
    inner = prefix + unit
    gap = f"\n{inner}" if unit and dice.random() < 0.9 else dice.choice(["", " "])
    rows = [
        (f"{json.dumps(key)}:{dice.choice(['', ' '])}" if isinstance(plain, dict) else "")
        + written(dice, each, inner, unit, comments)
        for key, each in (plain.items() if isinstance(plain, dict) else enumerate(plain))
    ]
    body = ",".join(f"{remark()}{gap}{row}{remark()}" for row in rows)
    if comments and rows and dice.random() < 0.2:
        body += ","
    end = f"\n{prefix}" if gap.startswith("\n") else gap
    return ("{%s%s}" if isinstance(plain, dict) else "[%s%s]") % (body, end)
