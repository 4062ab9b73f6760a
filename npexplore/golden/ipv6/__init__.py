"""IPv6: addresses, header, extension headers, validation, hop limit, ICMPv6 messages, stages of the router."""
