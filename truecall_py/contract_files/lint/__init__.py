"""The rules of `truecall lint`."""
