"""IPv6: addresses, header, extension headers, validation, hop limit, ICMPv6 errors, one packet's way."""
