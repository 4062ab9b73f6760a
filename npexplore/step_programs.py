"""Programs of steps that call accelerators: written once, run on real packets, and lowered to a model."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.machine.step_programs import *  # noqa: F403
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
