"""Parses shell commands, decides which of them certainly ran, and matches `runs` patterns."""
