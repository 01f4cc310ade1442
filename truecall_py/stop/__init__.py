"""The stop gate at the end of a turn."""
