"""Turns a verdict and the attempts so far into an order and its form. Pure data."""
