"""Tables behind Gorilla: trie storage, memory channels, area, virtual routers, what the claims admit.

storage          trie entries from real and synthetic routing tables (Fig. 6)
storage6         the same for IPv6, of which the paper prints no table
channels         reads of a mix and the memory channels it needs (Fig. 7)
area             look-up tables by engines, threads and steps (Figs. 11, 12)
structures       what schedulers, reorder queues and arbiters take (Sec. 4.5.2)
virtual_routers  which virtual routers to merge (Fig. 14)
beyond           what the paper proposes and did not build: counters in two levels, a compressed first level
claims           which cycles a packet admits all claims, and how often "never loses" is right
performance      rates over configurations, traffic, schedulers, arbiters (Figs. 9, 10, 11, 13)
"""
