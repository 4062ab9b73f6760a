"""A device's transfers over PCI Express: throughput and latency of a host's link, memory and address translation."""
