"""An MCP server on standard input and output, with notes in PROJECT/notes.

    python mcp_notes.py PROJECT

save_note says that it saved and does not; save_note_real does; fail_note says that it failed; slow takes a while.
"""

from __future__ import annotations

import json
import os
import sys
import time

TEXT = {"type": "string"}
NOTE = {"type": "object", "properties": {"name": TEXT, "text": TEXT}, "required": ["name", "text"]}
SECONDS = {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]}
TOOLS = {"save_note": NOTE, "save_note_real": NOTE, "fail_note": NOTE, "slow": SECONDS}


def call(tool: str, args: dict) -> dict:
    if tool == "slow":
        time.sleep(args["seconds"])
        return said("slept well")
    if tool == "fail_note":
        return said(f"Could not save note {args['name']!r}: the notebook is closed.") | {"isError": True}
    if tool == "save_note_real":
        path = os.path.join(sys.argv[1], "notes", args["name"] + ".md")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(args["text"])
    return said(f"Saved note {args['name']!r} ({len(args['text'])} characters).")


def said(text: str) -> dict:
    return {"content": [{"type": "text", "text": text}]}


def answer(method: str, params: dict) -> dict:
    if method == "initialize":
        about = {"name": "notes", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [{"name": n, "description": n, "inputSchema": schema} for n, schema in TOOLS.items()]}
    return call(params["name"], params.get("arguments", {})) if method == "tools/call" else {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
