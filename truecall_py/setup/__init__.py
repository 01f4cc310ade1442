"""install, uninstall, init: plans and carries out edits of client settings."""
