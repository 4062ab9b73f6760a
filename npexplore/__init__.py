"""npexplore: describe a packet-forwarding machine once, learn how fast it is, what holds it back, and whether it is right."""

__version__ = "0.1.0"
