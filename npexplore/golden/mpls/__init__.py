"""MPLS: label stacks, the incoming label map with its cache, push, swap and pop with the TTL models of RFC 3443."""
