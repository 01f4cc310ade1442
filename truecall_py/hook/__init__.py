"""Reads one client event and writes one answer; fails closed."""
