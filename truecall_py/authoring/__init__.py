"""Writes contracts and runs their examples in a sandbox."""
