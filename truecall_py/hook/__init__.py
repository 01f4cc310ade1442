"""Reads one event and writes one answer; the fail-closed boundary."""
