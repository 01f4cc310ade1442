"""The fields of a contract file and of a contract: the declaration from which loader, lint, JSON Schema and
docs are made. Holds nothing else."""

from __future__ import annotations

from truecall_py.contracts.field import field
from truecall_py.policy.retry_budgets import CLASSES

CALL_KINDS = ("write", "edit", "delete", "read", "shell", "mcp", "fetch", "agent", "other")

FILE_FIELDS = (
    field("version", "choice", "The contract format's version.", required=True, choices=("1",)),
    field("use", "use", "Starter packs to judge as well."),
    field("mode", "choice", "enforce, or observe: judged and shown to the person, never blocking.",
          default="enforce", choices=("enforce", "observe")),
    field("contracts", "contracts", "The contracts; may be left out where `use` names packs."),
    field("policy", "policy", "Retries, quarantine, and what happens when a budget is gone."),
)  # fmt: skip

POLICY_FIELDS = (
    field("retries", "retries", "Retries after the first attempt, by class of failure: a number, or [fewest, most]."),
    field("session", "count", "Refuted attempts that end a session.", default=10),
    field("quarantine", "quarantine",
          "A route that lied `after` times rests for `ticks` batches of calls; 0: never."),
    field("on_exhausted", "choice", "tell: the agent stops this step and tells the person; stop: the loop ends.",
          default="tell", choices=("tell", "stop")),
)  # fmt: skip

FIELDS = (
    field("id", "name", "Unique in the file; quoted in every correction.", required=True),
    field("description", "text", "What must hold, in words."),
    field("tool", "texts", "The harness's own tool name, whole and case-sensitive; glob * and ?."),
    field("kind", "choices", "A harness-neutral kind of call, or a list of kinds.", choices=CALL_KINDS),
    field("when", "matchers", "Facts of the call that must all hold, else the contract does not apply."),
    field("post", "checks", "One check or a list; all must hold."),
    field("repeat", "choice", "May the same call be made again?", choices=("safe", "keyed", "never")),
    field("remedy", "text", "What the agent should do about a failure, in your own words."),
    field("alternatives", "texts", "Tools or commands to use instead."),
    field("grants", "name", "A name for the effect; contracts that grant the same are alternatives."),
    field("mode", "choice", "enforce or observe, for this contract.", choices=("enforce", "observe")),
    field("timeout", "duration", "The most that one look may take (default 2s for files, 5s for others)."),
    field("within", "duration", "Keep looking until it holds, at most this long."),
    field("every", "duration", "The pause between two looks.", default="250ms"),
    field("stable_for", "duration", "It must hold this long without a break."),
    field("agree", "count", "So many looks in a row must end alike, else it could not be verified."),
    field("vacuous", "choice", "ok: an effect that was there before the call already counts.", choices=("ok",)),
    field("doubts", "choice", "silent: what cannot be told is no verdict and gets no word; only a refutation "
          "is told. For contracts about what is often not to be seen.", choices=("silent",)),
    field("examples", "examples", "Calls in a small world, with the verdicts they must get; run by `truecall test`."),
    field("interpreter", "text", "The Python that runs `custom` and `schema`; default: truecall's own."),
    field("event", "choice", "When it is judged: after a tool call, or when the agent wants to stop.",
          choices=("tool", "stop")),
    field("claims", "patterns",
          "At the stop: judged only if the final message holds one of these regular expressions."),
    field("class", "choice", "The kind of failure, which decides how often it may be tried again.", choices=CLASSES),
    field("store", "choice", "none: neither arguments nor findings of its calls are kept in the ledger.",
          choices=("none",)),
    field("pre", "checks", "A guard: one check or a list that must hold before the call, else it is not made."),
    field("requires", "names", "A guard: effects (`grants` of contracts) that were verified in this session."),
    field("on_unverified", "choice", "What a guard does that cannot be evaluated: deny (the default), or ask the "
          "person (Claude Code; deny in Codex).", choices=("deny", "ask")),
    field("receipt", "receipt", "The operation that the call is, and the source whose receipt alone settles it."),
    field("key", "text", "The idempotency key, where the arguments carry one: a retry with the same is no duplicate.",
          templated=True),
    field("steps", "texts", "The contracts of an operation of several steps; with event: stop."),
    field("by", "text", "What tells two instances of such an operation apart; default: tenant and resource of the "
          "steps' receipts.", templated=True),
)  # fmt: skip

RECEIPT_FIELDS = (
    field("from", "source", "The look-up: http_status, command, sqlite or custom, with that check's fields.",
          required=True),
    field("items", "text", "Where in the evidence a list of receipts stands (a.b); default: all of it."),
    field("match", "wanted", "Path in the receipt: what must stand there, all of it, type and all.", required=True,
          templated=True),
    field("state", "text", "Path in the receipt: its state.", required=True),
    field("states", "states", "What each state means: verified, pending or refuted; any other is unverified.",
          required=True),
    field("id", "text", "Path in the receipt: what names one effect; two completed ones are a duplicate."),
    field("as_of", "text", "Path in the receipt: a number, or a time with its zone (ISO 8601), that grows."),
    field("duplicates", "choice", "refuse a second call of an operation that is done, or only report it.",
          default="refuse", choices=("refuse", "report")),
    field("review", "period", "After this long an unsettled operation is overdue."),
    field("owner", "text", "Who looks at it then."),
)  # fmt: skip


def parse_duration(text: str) -> float:
    """Return a duration of the format, such as 250ms or 2h, in seconds."""
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)):
        if text.endswith(unit):
            return round(float(text[: -len(unit)]) * factor, 6)
    raise ValueError(text)
