"""The version of truecall, as the wheel, the trust store and `--version` say it."""

__version__ = "0.1.0"
