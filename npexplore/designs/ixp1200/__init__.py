"""The Intel IXP1200 as a DiffServ edge router.

design    the machine: pools of threads and the resources that they share
programs  what a thread of each pool does with a packet
units     memories, buses, queues and policers
load      the packets of each port, and the counted work of golden code on each
"""
