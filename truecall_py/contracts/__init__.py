"""A compiled contract as the hook uses it: model, matchers, templates, facts of a call."""
