"""Claude Code: where and how it is told of a hook."""

from truecall_py.clients.registration import BOM, Plugin, Registration
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

OLD, NEW = "Claude Code 2.1.197", "Claude Code 2.1.332"  # the two versions that were run
NEAR_OLD = f"{OLD} and near it"
MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")
NULLED = ("enableAllProjectMcpServers allowManagedHooksOnly allowManagedPermissionRulesOnly skipWebFetchPreflight "
          "skipDangerousModePermissionPrompt")  # fmt: skip
SERVERS = "enabledMcpjsonServers disabledMcpjsonServers"
PROMPT = (*ask(TEXT, "prompt", needed=True), *ask(TEXT, "model"))
# What it asks of the values in its settings file. Each row was seen with the real client.
RULES = SettingsRules(
    loss="drops every hook of the file in silence",
    only=NEAR_OLD,
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
        *ask(SWITCH, NULLED, only=NEAR_OLD),
        *ask(one_of(*MODES), "permissions.defaultMode", only=NEAR_OLD),
        *ask(OBJECT, "attribution extraKnownMarketplaces subagentStatusLine spinnerTipsOverride", only=NEAR_OLD),
        *ask(TEXTS, SERVERS, only=NEAR_OLD),
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
REGISTRATION = Registration(
    name="claude-code",
    client="Claude Code",
    events=("PostToolUse", "PostToolUseFailure", "PostToolBatch", "PreToolUse", "Stop", "SubagentStop"),
    slow=(("Stop", 660), ("SubagentStop", 660)),
    home=("CLAUDE_CONFIG_DIR", "", ".claude"),
    user="settings.json",
    # The file for one machine: the registration holds absolute paths, and settings.json is a team's.
    project=".claude/settings.local.json",
    example="install/claude-code.json",
    executable="claude",
    marks=(".claude", "CLAUDE.md"),
    agent_variables=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    scratch=(".claude",),
    home_servers=(".claude.json",),
    project_servers=(".mcp.json", ".claude/settings.json", ".claude/settings.local.json"),
    beside_servers=("settings.json", ".claude.json"),
    own_servers=("plugin_", "claude_ai", "ide", "claude-in-chrome", "computer-use"),
    status="truecall checks the result",
    # One comment or trailing comma and 2.1.197 and 2.1.332 read nothing of the file; one bad entry and
    # 2.1.197 runs none of its hooks.
    reads=(BOM,),
    types=("command", "http", "prompt", "agent", "mcp_tool"),
    off=(("disableAllHooks", True),),
    twice=False,
    here=True,
    longest=(OLD, 2147483.647),
    plugin=Plugin(
        root="CLAUDE_PLUGIN_ROOT",
        hooks="hooks/hooks.json",
        manifest=".claude-plugin/plugin.json",
        install="claude plugin install truecall",
        remove="claude plugin uninstall truecall",
        marketplace=".claude-plugin/marketplace.json",
    ),
    rules=RULES,
)
