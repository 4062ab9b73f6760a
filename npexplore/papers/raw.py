"""IP routing on the RAW chip: its paper's values, recomputed; layouts of tiles."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.designs.raw.larger_layouts import crossing_layout as crossing_layout
    from npexplore.designs.raw.larger_layouts import scaled_layout as scaled_layout
    from npexplore.designs.raw.layouts import Layout as Layout
    from npexplore.designs.raw.layouts import LayoutFile as LayoutFile
    from npexplore.designs.raw.layouts import check_layout as check_layout
    from npexplore.designs.raw.layouts import load_layout as load_layout
    from npexplore.study.papers.raw import consistency as consistency
    from npexplore.study.papers.raw import line_cards as line_cards
    from npexplore.study.papers.raw import performance as performance
    from npexplore.study.papers.raw.conclusions import conclusions as conclusions
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
