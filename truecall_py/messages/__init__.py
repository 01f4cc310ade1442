"""Every sentence that an agent or a person reads about a verdict, one module an occasion."""
