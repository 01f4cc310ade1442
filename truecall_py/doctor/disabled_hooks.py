"""What switches a client's hooks off: which files and variables may say so for a session in a folder, in what order
they count, and which one wins. Every order here was seen with the real clients. Reads only, and takes no file for
said that the client does not read."""

from __future__ import annotations

import os

from truecall_py.clients.registration import BOM, COMMENTS, GROUPS, Registration
from truecall_py.core.errors import TruecallError
from truecall_py.doctor import registrations
from truecall_py.doctor.registrations import ERROR, Finding, Handler
from truecall_py.setup import codex_trust, file_changes, plan, settings_rules
from truecall_py.setup.jsonc import Document
from truecall_py.setup.plan import PROJECT, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SIMPLE = "CLAUDE_CODE_SIMPLE"
TRUE = ("1", "true", "yes", "on")
# Claude Code in the two versions that were run: the older one reads nothing of the repository's root in a subfolder,
# the newer one takes SIMPLE from no project's file.
OLD, NEW = "Claude Code 2.1.197", "Claude Code 2.1.332"
# Where Copilot CLI looks for its switch, the last one wins; its files in the home folder do not count.
COPILOT = (".claude/settings.json", ".claude/settings.local.json", ".github/copilot/settings.json",
           ".github/copilot/settings.local.json")  # fmt: skip


def off(name: str, mine: list[Handler], project: str, given: Mapping[str, str]) -> Iterator[Finding]:
    """Everything with which a client runs no hook of ours in a session in `project`. `given` is the environment
    that the client itself is started with."""
    if name == "codex":
        yield from codex(project)
        return
    about = mine[0].about
    ways = readings(name, about, project)
    for dotted, value in about.off:
        hits = []
        for who, files in ways:
            said, where = winner(files, about, dotted)
            if said is value:
                hits.append((who, where))
        for where in dict.fromkeys(where for _, where in hits):
            who = versions([who for who, there in hits if there == where], ways)
            yield switched(name, f"{dotted} is {str(value).lower()} in this file", who, where)
    if name == "copilot-cli":
        for path in dict.fromkeys(handler.path for handler in mine):
            if told(path, about).get("disableAllHooks") is True:
                what = "disableAllHooks is true in this file, so Copilot CLI runs no hook of it"
                yield Finding(ERROR, name, what, path, f"change it in {path}")
    if name == "claude-code":
        yield from simple(project, about, given)
    if name == "gemini-cli":
        yield from listed(mine, ways[0][1], about)


def switched(name: str, what: str, who: str, where: str) -> Finding:
    said = f"{what}, so {who} runs no hook at all until that is changed"
    return Finding(ERROR, name, said, where, f"change it in {where}")


def versions(who: list[str], ways: list[tuple[str, list[str]]]) -> str:
    """The client as it is called where all of its ways of reading agree, else those that do."""
    return " and ".join(who) if len(who) < len(ways) else who[0].rpartition(" 2.")[0] or who[0]


def readings(name: str, about: Registration, project: str) -> list[tuple[str, list[str]]]:
    """(the client, the files that may switch its hooks off, the last one wins), once for each way of reading them
    that there is."""
    user, own = plan.place(about, USER, project), plan.place(about, PROJECT, project)
    if name == "copilot-cli":
        files = [os.path.join(project, each) for each in COPILOT]
        return [(f"{about.client} in a folder that it trusts", files)]
    if name == "gemini-cli":
        return [(about.client, [user, own] if gemini_trusts(project) else [user])]
    files = [user, *claude_files(about, project)] if name == "claude-code" else [user, own]
    above = registrations.above(name, project) if name == "claude-code" else []
    if not above:
        return [(about.client, files)]
    return [(OLD, files), (NEW, [*files, *(plan.place(about, PROJECT, each) for each in above)])]


def claude_files(about: Registration, project: str) -> list[str]:
    """The files of a project that Claude Code reads, the one that wins last."""
    own = plan.place(about, PROJECT, project)
    return [os.path.join(os.path.dirname(own), "settings.json"), own]


def told(path: str, about: Registration) -> dict[str, Any]:
    """What a file tells this client; empty for one that it does not read."""
    try:
        doc = Document(plan.text_of(file_changes.look(path)))
    except TruecallError:
        return {}
    if doc.trailing or (doc.comments and COMMENTS not in about.reads) or (doc.bom and BOM not in about.reads):
        return {}
    if about.form == GROUPS and any(
        not fault.hooks and not fault.only for fault in settings_rules.faults(doc, about)
    ):
        return {}
    plain = doc.root.plain()
    return plain if isinstance(plain, dict) else {}


def winner(files: list[str], about: Registration, dotted: str) -> tuple[bool | None, str]:
    """(What the last file that says anything says, that file)."""
    said, where = None, ""
    for path in files:
        found: Any = told(path, about)
        for key in dotted.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, bool):
            said, where = found, path
    return said, where


# -- Claude Code ---------------------------------------------------------------------------------------------


def variables(path: str, about: Registration) -> dict[str, str]:
    """The environment that a settings file of Claude Code gives to all that it starts."""
    found = told(path, about).get("env")
    plain = found.items() if isinstance(found, dict) else ()
    return {key: str(value) for key, value in plain if isinstance(value, (str, int, float))}


def simple(project: str, about: Registration, given: Mapping[str, str]) -> Iterator[Finding]:
    """Claude Code in its simple mode runs no hook. Settings win over the environment that it is started with."""
    user = plan.place(about, USER, project)
    ways = [(OLD, [user, *claude_files(about, project)]), (NEW, [user])]
    hits = []
    for who, files in ways:
        value, where = given.get(SIMPLE, ""), ""
        for path in files:
            if SIMPLE in (found := variables(path, about)):
                value, where = found[SIMPLE], path
        if value.strip().lower() in TRUE:
            hits.append((who, value, where))
    for value, where in dict.fromkeys((value, where) for _, value, where in hits):
        who = versions([who for who, *rest in hits if rest == [value, where]], ways)
        place = "the env of this file" if where else "the environment"
        what = f"{SIMPLE} is {value!r} in {place}, so {who} runs no hook at all"
        yield Finding(ERROR, "claude-code", what, where, f"take it out of {where}" if where else f"unset {SIMPLE}")


# -- Gemini CLI ----------------------------------------------------------------------------------------------


def gemini_trusts(project: str) -> bool:
    """Whether Gemini CLI trusts a folder, and so reads the settings in it, as far as its files tell."""
    about = plan.registered()["gemini-cli"].REGISTRATION
    user = plan.place(about, USER, project)
    if os.environ.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    if winner([user], about, "security.folderTrust.enabled")[0] is False:
        return True
    known = registrations.plain(os.path.join(os.path.dirname(user), "trustedFolders.json"))
    while known.get(project) != "TRUST_FOLDER":
        if project == os.path.dirname(project):
            return False
        project = os.path.dirname(project)
    return True


def listed(mine: list[Handler], files: list[str], about: Registration) -> Iterator[Finding]:
    """Hooks of ours that a list of Gemini CLI names: by their name where they have one, else by their command. The
    lists of all files count."""
    for path in dict.fromkeys(files):
        config = told(path, about).get("hooksConfig")
        names = config.get("disabled") if isinstance(config, dict) else None
        for handler in mine:
            if isinstance(names, list) and (handler.title or handler.command) in names:
                what = f"hooksConfig.disabled in {path} names our hook, so Gemini CLI does not run it"
                yield Finding(ERROR, "gemini-cli", what, handler.where, f"take it out of that list in {path}")


# -- Codex ---------------------------------------------------------------------------------------------------


def codex(project: str) -> Iterator[Finding]:
    """Codex reads the person's config.toml, and where it trusts the project those from the repository's root down
    to the session's folder; the last one that says anything wins."""
    about = plan.registered()["codex"].REGISTRATION
    own = os.path.join(os.path.dirname(plan.place(about, USER, project)), "config.toml")
    folders = codex_trust.parents(project)
    rows = toml(own).get("projects")
    known = [rows.get(each) for each in folders] if isinstance(rows, dict) else []
    files = [own]
    if any(isinstance(each, dict) and each.get("trust_level") == "trusted" for each in known):
        places = [os.path.dirname(plan.place(about, PROJECT, each)) for each in reversed(folders)]
        files += [os.path.join(each, "config.toml") for each in places]
    said: dict[str, tuple[Any, str]] = {}
    for path in files:
        features = toml(path).get("features")
        if isinstance(features, dict):
            said |= {key: (value, path) for key, value in features.items()}
    name = next((each for each in ("hooks", "codex_hooks") if each in said), "")  # the new name wins over the old one
    if name and said[name][0] is False:
        yield switched("codex", f"features.{name} is false in config.toml", "Codex", said[name][1])


def toml(path: str) -> dict[str, Any]:
    try:
        return codex_trust.parsed(plan.text_of(file_changes.look(path)))
    except TruecallError:
        return {}
