"""Every sentence about a verdict that an agent or a person reads, one module for each occasion."""
