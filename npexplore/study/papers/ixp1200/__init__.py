"""Tables behind the IXP1200's figures.

performance  rules and threads, what binds, structures, range matching by example
diffserv     functional tests of DiffServ at its ports
remedies     what the paper proposes against the SRAM bottleneck
"""
