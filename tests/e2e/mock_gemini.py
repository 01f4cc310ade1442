"""The Gemini API, scripted: `[("write_file", {...}), ...]` is a turn with tool calls. The n-th call of turn t has the
id call_t_n.
"""

from __future__ import annotations

import json

from e2e.mock_server import Model


class Gemini(Model):
    route = "enerateContent"  # generateContent and streamGenerateContent

    def answer(self, body: dict) -> list[dict] | dict:
        if not body.get("tools"):  # a side question, asked without a stream
            return self.candidate([{"text": "{}"}])
        _, number, turn = self.turn("", body)
        parts = [
            {"text": part}
            if isinstance(part, str)
            else {"functionCall": {"id": f"call_{number}_{index}", "name": part[0], "args": part[1]}}
            for index, part in enumerate(turn)
        ]
        return [self.candidate(parts)]

    def candidate(self, parts: list[dict]) -> dict:
        content = {"role": "model", "parts": parts}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage,
            "modelVersion": "mock",
        }  # fmt: skip

    def stream(self, events: list[dict]) -> str:
        return "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events)
