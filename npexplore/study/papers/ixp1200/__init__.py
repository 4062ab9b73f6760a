"""Recomputes the IXP1200 paper.

performance  rules and threads, bottlenecks, structures, range matching by example
diffserv     functional tests of DiffServ at its ports
remedies     the paper's proposals against the SRAM bottleneck
"""
