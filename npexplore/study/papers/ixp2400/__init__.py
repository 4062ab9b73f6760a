"""Recomputes the study of packet buffering on the IXP2400.

tables   tables behind its figures: cells, narrow accesses, a time line of the DRAM
gains    gains of the schemes: the bus time that the printed numbers imply, and other readings of the text
lengths  other mixes of packet lengths with all printed properties of its lost traces
"""
