"""The OpenAI Responses API, scripted. A tool call of a turn is one of

    ("exec_command", {"cmd": "ls"})                  a function; ("mcp__notes/save_note", {...}) one of a namespace
    ("apply_patch", "*** Begin Patch ...")           a custom tool, which takes plain text
    ("exec", "text(await tools.exec_command(...))")  code mode: a script

The n-th call of turn t has the id call_t_n.
"""

from __future__ import annotations

import json

from e2e.mock_server import Model


class OpenAI(Model):
    route = "/responses"

    def answer(self, body: dict) -> list[dict] | dict:
        # A sub-agent's task comes as a message of the user's or, in the second form of sub-agents, of an agent's.
        tasks = [item for item in body["input"] if item.get("role") == "user" or item["type"] == "agent_message"]
        _, number, turn = self.turn(json.dumps(tasks), body)
        items = [item(part, f"{number}_{index}") for index, part in enumerate(turn)]
        response = {
            "id": f"resp_{number}", "object": "response", "created_at": 1, "model": body.get("model"), "output": [],
        }  # fmt: skip
        counts = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        events: list[dict] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
        for index, entry in enumerate(items):
            events += [
                {"type": "response.output_item.added", "output_index": index, "item": entry},
                {"type": "response.output_item.done", "output_index": index, "item": entry},
            ]
        whole = {**response, "status": "completed", "output": items, "usage": counts}
        return [*events, {"type": "response.completed", "response": whole}]


def item(part: str | tuple, number: str) -> dict:
    if isinstance(part, str):
        content = [{"type": "output_text", "text": part, "annotations": []}]
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    name, given = part
    call = {"call_id": f"call_{number}", "status": "completed"}
    if isinstance(given, str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", "name": name, "input": given, **call}
    namespace, _, tool = name.rpartition("/")
    more = {"namespace": namespace} if namespace else {}
    return {
        "type": "function_call", "id": f"fc_{number}", "name": tool, "arguments": json.dumps(given), **more, **call,
    }  # fmt: skip
