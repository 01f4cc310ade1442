"""The only door to files, processes, sockets, git, SQLite and the clock; snapshots of it."""
