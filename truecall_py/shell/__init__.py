"""Shell command text to simple commands, how certainly each ran, and the `runs` patterns."""
