"""MIT RAW as an IPv4 router.

design          what the tiles do with a packet, Versions I to V
chip            networks, tiles, DRAM ports and line cards as resources
layouts         placement of stages, memories and line cards on tiles, read from models/raw/*.toml and checked
larger_layouts  generated layouts: more than sixteen tiles, crossing streams
memory          packet buffers: how payloads are written and read
traffic         pipeline, output and lookup cycles of each packet
files           what file-driven line cards record
"""
