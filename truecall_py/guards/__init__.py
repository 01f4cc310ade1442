"""Judges contracts before a call."""
