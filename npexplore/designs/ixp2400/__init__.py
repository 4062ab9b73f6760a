"""The Intel IXP2400 forwarding IPv4.

design  what a thread does with a packet
dram    its packet buffer alone: the design ixp2400_dram
"""
