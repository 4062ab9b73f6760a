"""The SoCLIB multiprocessor NPU.

design  one unit, or several as a router: what a task does with a packet
unit    a unit's resources, the cycles of its parts, its locks and interconnect
ways    packets with their paths through the element graph
router  units around a switch matrix
"""

from npexplore.designs.soclib.unit import element_cycles

__all__ = ["element_cycles"]
