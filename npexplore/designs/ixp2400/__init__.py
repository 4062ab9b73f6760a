"""The Intel IXP2400 forwarding IPv4.

design    the machine, and what a thread does with a packet
dram      its packet buffer alone: the design ixp2400_dram
accesses  access traces for the packet buffer
nets      both designs as Petri nets
"""
