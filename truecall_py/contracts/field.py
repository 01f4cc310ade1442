"""The declaration of a field of the contract format. The loader, lint, the JSON Schema and the docs read it. It never
interprets a value: contract_files.json_schema and the checks do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The kinds of fields; contract_files.json_schema says what each accepts.
KINDS = (
    "text", "texts", "path", "url", "pattern", "octal", "name", "duration", "count", "counts", "number", "boolean",
    "choice", "choices", "argv", "map", "matcher", "matchers", "status", "statuses", "check", "checks", "json-schema",
    "value", "list", "operand", "contracts", "use", "examples", "glob", "key", "mode",
    "patterns", "names", "policy", "retries", "quarantine", "receipt", "source", "wanted", "states", "period",
    "function",
)  # fmt: skip


class Field:
    """One declared field."""

    __slots__ = ("choices", "default", "help", "kind", "name", "required", "templated")

    def __init__(
        self,
        name: str,
        kind: str,
        help: str,
        required: bool = False,
        default: Any = None,
        templated: bool = False,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.required = required
        self.default = default
        self.templated = templated
        self.choices = choices


field = Field
