"""How a field of the contract format is declared. The one source of the loader, `lint`, the JSON Schema
and the docs table; never interprets a value (that is the work of `grammar` and the check itself)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The kinds a field can be of; `grammar` holds what each accepts, in words of JSON Schema.
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
