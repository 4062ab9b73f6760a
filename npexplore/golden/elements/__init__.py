"""Element graphs: a Click-like layer over the golden functions (docs/elements.md)."""

from npexplore.golden.elements.base import Element, Pack
from npexplore.golden.elements.graph import Graph, Passage, Way
from npexplore.golden.elements.library import ELEMENTS

__all__ = ["ELEMENTS", "Element", "Graph", "Pack", "Passage", "Way"]
