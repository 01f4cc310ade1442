"""Turns a verdict and the attempts into an order and the form of its delivery. Pure data."""
