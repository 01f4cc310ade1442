"""The version of truecall, used by the wheel, the trust store and `--version`."""

__version__ = "0.1.0"
