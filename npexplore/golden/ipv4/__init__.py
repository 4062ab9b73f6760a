"""IPv4 packets: header, addresses, options, fragments, ICMP errors; each rule with its clause."""
