"""The IPv4 packet: header, addresses, options, fragments, ICMP errors; each rule with its clause."""
