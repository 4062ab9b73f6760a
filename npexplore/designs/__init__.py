"""The machines: DESIGNS lists them; a machine file or a Python file of the user's own works in a name's place.

Names are imported when they are first used: `designs/listed.py` alone imports no kernel.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.designs.base import Design as Design
    from npexplore.designs.shelf import DESIGNS as DESIGNS
    from npexplore.designs.shelf import NETS as NETS
    from npexplore.designs.shelf import DesignLike as DesignLike
    from npexplore.designs.shelf import base_of as base_of
    from npexplore.designs.shelf import design as design
    from npexplore.designs.shelf import design_names as design_names
    from npexplore.designs.shelf import known_designs as known_designs
    from npexplore.designs.shelf import own_names as own_names
    from npexplore.designs.shelf import with_machines as with_machines

# public name -> the module that holds it
_HOMES = {
    "DESIGNS": "npexplore.designs.shelf",
    "NETS": "npexplore.designs.shelf",
    "Design": "npexplore.designs.base",
    "DesignLike": "npexplore.designs.shelf",
    "base_of": "npexplore.designs.shelf",
    "design": "npexplore.designs.shelf",
    "design_names": "npexplore.designs.shelf",
    "known_designs": "npexplore.designs.shelf",
    "own_names": "npexplore.designs.shelf",
    "with_machines": "npexplore.designs.shelf",
}

__all__ = [*_HOMES]
__getattr__, __dir__ = on_demand(__name__, _HOMES)
