"""Judges a call by its contracts, and records the verdicts."""
