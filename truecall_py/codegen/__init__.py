"""Generates the launcher, settings and docs from the code. Not part of the wheel."""
