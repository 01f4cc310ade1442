"""From the bytes of a YAML file to a compiled contract. Never imported by the hook."""
