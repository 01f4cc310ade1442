"""From a verdict and the attempts to an order and the form of its delivery. Pure data."""
