"""One event in, one answer out; the fail-closed boundary."""
