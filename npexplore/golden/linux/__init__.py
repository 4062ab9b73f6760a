"""The rules of the Linux kernel that differ from RFC 1812: stages, options, routes, messages, settings."""
