"""A compiled contract as the hook sees it: model, matchers, templates, facts of a call."""
