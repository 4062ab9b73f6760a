"""What the study of packet buffering on the IXP2400 prints, recomputed.

tables   behind its figures: cells, narrow accesses, a time line of the DRAM
gains    what each scheme gains: the bus time that the printed numbers ask for, and other readings of the text
lengths  other mixes of packet lengths that meet all that is printed of its lost traces
"""
