"""Transfers of a device over PCI Express: what a host's link, memory and address translation let through."""
