"""One file a command. A command shows and writes; it never decides a verdict."""
