"""The child process that may use site-packages and run a contract's own code."""
