"""Judges `pre` and `requires` of contracts before a call."""
