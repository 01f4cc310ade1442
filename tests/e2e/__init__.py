"""End-to-end tests: the real clients, from the npm registry, against scripted model servers on loopback."""
