"""The machine designs: DESIGNS lists them; a path to a user's machine file or Python file works in place of a name.

Names are imported when they are first used, so that importing `designs/listed.py` alone loads no kernel.
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
