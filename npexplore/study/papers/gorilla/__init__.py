"""Recomputes the Gorilla paper: trie storage, memory channels, area, virtual routers, and what its claims admit.

storage          trie entries from real and synthetic routing tables (Fig. 6)
storage6         the same for IPv6, for which the paper prints no table
channels         reads of a mix and the memory channels that it needs (Fig. 7)
area             look-up tables by engines, threads and steps (Figs. 11, 12)
structures       area of schedulers, reorder queues and arbiters (Sec. 4.5.2)
virtual_routers  which virtual routers to merge (Fig. 14)
beyond           proposals that the paper did not build: counters in two levels, a compressed first level
claims           cycles per packet that are consistent with all claims on rates
performance      rates over configurations, traffic, schedulers, arbiters (Figs. 9, 10, 11, 13)
"""
