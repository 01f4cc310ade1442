"""The event store, and what follows from its events."""
