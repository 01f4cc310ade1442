"""Pins: what a person has seen and trusted."""
