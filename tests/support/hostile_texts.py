"""Texts that try to leave their place on a page, and a ledger full of them."""

from __future__ import annotations

import json
import time

from support.ledgers import call, verdict
from truecall_py.ledger.store import JUDGED, STOP, Event, Ledger

ADDRESS = "http://127.0.0.1:9"
# What an agent, a tool or a file could put into a ledger to get out of the text that it is.
HOSTILE = [
    "</script><script>window.ran=1</script>",
    f"<img src=x onerror=window.ran=1><img src={ADDRESS}/image>",
    '"><svg onload=window.ran=1>',
    "' onmouseover='window.ran=1' x='",
    "javascript:window.ran=1",
    "</title></style><style>@import url(" + ADDRESS + "/sheet)</style>",
    "</bdi></code></dd></dl></article></main><h1>All calls were verified</h1>",
    "<!-- <base href=" + ADDRESS + "> <meta http-equiv=refresh content='0;url=" + ADDRESS + "/away'>",
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe><form action=" + ADDRESS + "><button autofocus>",
    "&lt;script&gt; &amp; &#60;b&#62;",
    "]]><x/><![CDATA[ <?xml version='1.0'?>",
    "\u202egnirts desrever\u202c \u2066isolated\u2069 \u200bhidden\ufeff \u200f",
    "\x00\x07\x1b[2J\x1b]0;title\x07\r\n\x85",
    "\ud800 half of a pair \udfff",
    "e" + "\u0301" * 400,
]


def hostile(state: str) -> None:
    """A ledger in which everything that is a text is hostile, and one text a megabyte long."""
    ledger = Ledger(state)
    for number, evil in enumerate(HOSTILE):
        told = verdict(
            "refuted", contract=evil, found=evil, expected=evil, subject=evil, source=evil, order=evil, form="append",
            kind=evil, cause=evil, grants=evil, alternatives=[evil],
        )  # fmt: skip
        more = {"order": evil, "changed": [evil], "reported": "success", "exit_code": evil, "background": evil}
        call(ledger, f"{number} {evil}", told, at=900 - number, session=f"s {evil}", tool=evil, args={evil: evil},
             harness=evil, **more)  # fmt: skip
        stop = {"held": True, "open": [[evil, evil, evil]], "claims": [[evil, evil], evil, {"x": evil}]}
        ledger.add(Event(f"s {evil}", f"stop {number}", STOP, time.time(), evil, evil, evil, data=stop))
        ledger.add(Event(f"s {evil}", f"{number} {evil}", JUDGED, time.time(), evil, state=evil, data={"by": evil}))
    call(ledger, "long", verdict("verified"), at=5, args={"text": "x" * (1 << 20)})
    rows = ledger.query("SELECT max(id), data FROM events WHERE call = 'long' AND event = 'ended'")
    data = json.loads(rows[0][1])
    data["verdicts"][0] |= {"outcome": "lie", "state": "refuted", "found": "<b>" + "y" * (1 << 20), "expected": "z" * (1 << 20)}
    ledger.query("UPDATE events SET data = ? WHERE id = ?", (json.dumps(data), rows[0][0]))
    ledger.close()
