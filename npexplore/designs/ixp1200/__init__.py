"""The Intel IXP1200 as a DiffServ edge router.

design  what each pool of threads does with a packet
load    which packets it gets, and what golden code does with each
"""
