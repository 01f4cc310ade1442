"""The event store, and the state that follows from it: attempts, cooldowns, unresolved calls."""
