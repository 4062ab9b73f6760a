"""The router: its configuration, the stages of RFC 1812, a packet's way through them, and many at once."""
