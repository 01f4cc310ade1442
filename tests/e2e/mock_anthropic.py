"""The Anthropic Messages API, scripted: `[("Write", {...}), ...]` is a turn with tool calls. The n-th call of turn t
has the id toolu_CONVERSATION_t_n.
"""

from __future__ import annotations

import json

from e2e.mock_server import Model


class Anthropic(Model):
    route = "/v1/messages"

    def answer(self, body: dict) -> list[dict] | dict:
        if not body.get("tools"):  # a title, a summary: not the conversation
            return self.message("msg_side", body, [{"type": "text", "text": "ok"}])
        opening = next(message for message in body["messages"] if message["role"] == "user")
        name, number, turn = self.turn(json.dumps(opening), body)
        blocks = [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {"type": "tool_use", "id": f"toolu_{name}_{number}_{index}", "name": part[0], "input": part[1]}
            for index, part in enumerate(turn)
        ]
        return self.message(f"msg_{name}_{number}", body, blocks)

    def message(self, name: str, body: dict, blocks: list[dict]) -> list[dict] | dict:
        stop = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        whole = {
            "id": name, "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 10},
        }  # fmt: skip
        if not body.get("stream"):
            return whole
        events: list[dict] = [
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        ]
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        end = {"stop_reason": stop, "stop_sequence": None}
        return [
            *events,
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ]
