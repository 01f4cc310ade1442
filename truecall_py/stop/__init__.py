"""The gate at the end of a turn."""
