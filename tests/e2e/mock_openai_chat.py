"""The OpenAI chat completions API, scripted: `[("write", {...}), ...]` is a turn with tool calls. The n-th call of
turn t has the id call_t_n.
"""

from __future__ import annotations

import json

from e2e.mock_server import Model


class Chat(Model):
    route = "/chat/completions"

    def answer(self, body: dict) -> list[dict] | dict:
        if not body.get("tools"):  # a title, a summary: not the conversation
            return self.completion(body, "side", ["ok"])
        _, number, turn = self.turn("", body)
        return self.completion(body, str(number), turn)

    def completion(self, body: dict, name: str, turn: list) -> list[dict] | dict:
        calls = [part for part in turn if not isinstance(part, str)]
        message = {"role": "assistant", "content": "\n".join(part for part in turn if isinstance(part, str)) or None}
        if calls:
            message["tool_calls"] = [
                {
                    "index": index, "id": f"call_{name}_{index}", "type": "function",
                    "function": {"name": tool, "arguments": json.dumps(args)},
                }
                for index, (tool, args) in enumerate(calls)
            ]  # fmt: skip
        stop = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        about = {"id": f"chatcmpl-{name}", "created": 1, "model": body.get("model")}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": stop}
            return {**about, "object": "chat.completion", "choices": [choice], "usage": usage}
        chunk = {**about, "object": "chat.completion.chunk"}
        return [
            {**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
            {**chunk, "choices": [], "usage": usage},
        ]

    def stream(self, events: list[dict]) -> str:
        return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
