"""The rules of the Linux kernel where they differ from RFC 1812: stages, options, routes."""
