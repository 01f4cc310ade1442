"""Generates the launcher, the settings files and parts of the docs from the code. Not part of the wheel."""
