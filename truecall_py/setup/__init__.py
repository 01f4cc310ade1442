"""Plans and carries out edits of client settings, for install, uninstall and init."""
