"""Judges past transcripts."""
