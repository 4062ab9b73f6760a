"""MIT RAW as an IPv4 router.

design          what the tiles do with a packet, Versions I to V
chip            networks, tiles, DRAM ports and line cards as resources
layouts         who sits on which tile, read from models/raw/*.toml and checked
larger_layouts  the same for more than sixteen tiles
memory          packet buffers: how payloads are written and read
traffic         pipeline, output and lookup cycles of each packet
files           what file-driven line cards write down
"""
