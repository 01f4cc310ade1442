"""What Claude Code asks of the values in its settings file. Each row was seen with the real client."""

from __future__ import annotations

from truecall_py.clients.settings_rules import (
    DAYS,
    LIST,
    NUMBER,
    OBJECT,
    PAIRS,
    SECONDS,
    SWITCH,
    TEXT,
    TEXTS,
    URL,
    Rule,
    SettingsRules,
    ask,
    one_of,
    or_null,
)

OLD = "Claude Code 2.1.197 and near it"
MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")
NULLED = ("enableAllProjectMcpServers allowManagedHooksOnly allowManagedPermissionRulesOnly skipWebFetchPreflight "
          "skipDangerousModePermissionPrompt")  # fmt: skip
SERVERS = "enabledMcpjsonServers disabledMcpjsonServers"
PROMPT = (*ask(TEXT, "prompt", needed=True), *ask(TEXT, "model"))
RULES = SettingsRules(
    loss="drops every hook of the file in silence",
    only=OLD,
    settings=(
        *ask(TEXT, "$schema model agent apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh language "
               "otelHeadersHelper outputStyle minimumVersion plansDirectory autoMemoryDirectory autoUpdatesChannel "
               "defaultShell tui permissions.disableBypassPermissionsMode"),
        *ask(SWITCH, "disableAllHooks includeCoAuthoredBy includeGitInstructions respectGitignore "
               "spinnerTipsEnabled alwaysThinkingEnabled fastMode prefersReducedMotion autoMemoryEnabled "
               "showThinkingSummaries verbose promptSuggestionEnabled syntaxHighlightingDisabled autoCompactEnabled "
               "sandbox.enabled sandbox.autoAllowBashIfSandboxed"),
        *ask(OBJECT, "env permissions sandbox sandbox.network sandbox.filesystem statusLine enabledPlugins "
               "modelOverrides worktree pluginConfigs autoMode fileSuggestion spinnerVerbs voice"),
        *ask(LIST, "permissions.allow permissions.deny permissions.ask fallbackModel httpHookAllowedEnvVars "
               "companyAnnouncements claudeMdExcludes sandbox.excludedCommands"),
        *ask(TEXTS, "permissions.additionalDirectories allowedHttpHookUrls availableModels"),
        *ask(DAYS, "cleanupPeriodDays"),
        *ask(NUMBER, "feedbackSurveyRate statusLine.padding"),
        *ask(one_of(*MODES, "manual"), "permissions.defaultMode"),
        *ask(one_of("command"), "statusLine.type", needed=True),
        *ask(TEXT, "statusLine.command", needed=True),
        *ask(TEXT, "attribution.commit attribution.pr"),
        *ask(or_null(SWITCH), NULLED),
        *ask(or_null(LIST), "strictKnownMarketplaces blockedMarketplaces"),
        *ask(("an object", lambda value: isinstance(value, (dict, bool))), "attribution"),
        *ask((TEXTS[0], lambda value: isinstance(value, str) or TEXTS[1](value)), SERVERS),
        # The older version takes less.
        *ask(SWITCH, NULLED, only=OLD),
        *ask(one_of(*MODES), "permissions.defaultMode", only=OLD),
        *ask(OBJECT, "attribution extraKnownMarketplaces subagentStatusLine spinnerTipsOverride", only=OLD),
        *ask(TEXTS, SERVERS, only=OLD),
    ),
    events=(
        "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Notification", "UserPromptSubmit",
        "UserPromptExpansion", "SessionStart", "SessionEnd", "Stop", "StopFailure", "SubagentStart", "SubagentStop",
        "PreCompact", "PostCompact", "PermissionRequest", "PermissionDenied", "Setup", "TeammateIdle", "TaskCreated",
        "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange", "InstructionsLoaded", "CwdChanged",
        "FileChanged", "MessageDisplay", "WorktreeCreate", "WorktreeRemove",
    ),
    group=(Rule("", *OBJECT), *ask(TEXT, "matcher"), *ask(LIST, "hooks", needed=True)),
    shared=(*ask(SECONDS, "timeout"), *ask(TEXT, "statusMessage if"), *ask(SWITCH, "once")),
    handlers=(
        ("command", (*ask(TEXT, "command", needed=True), *ask(SWITCH, "async asyncRewake"), *ask(TEXTS, "args"),
                     *ask(one_of("bash", "powershell"), "shell"))),
        ("http", (*ask(URL, "url", needed=True), *ask(PAIRS, "headers"), *ask(LIST, "allowedEnvVars"))),
        ("prompt", PROMPT),
        ("agent", PROMPT),
        ("mcp_tool", (*ask(TEXT, "server tool", needed=True), *ask(OBJECT, "input"))),
    ),
)  # fmt: skip
