"""The router: configuration, stages of RFC 1812, and forwarding of one packet or many at once."""
