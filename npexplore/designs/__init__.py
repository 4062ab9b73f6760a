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
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
