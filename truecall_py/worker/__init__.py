"""The child process that may use site-packages and run a person's own code."""
