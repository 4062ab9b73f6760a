"""Figures and tables of results in one theme with colours for colour-blind readers; nothing here computes results."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.plot import captures as captures
    from npexplore.plot import dram as dram
    from npexplore.plot import gorilla as gorilla
    from npexplore.plot import hardware as hardware
    from npexplore.plot import ixp1200 as ixp1200
    from npexplore.plot import ixp2400 as ixp2400
    from npexplore.plot import packet_run as packet_run
    from npexplore.plot import programs as programs
    from npexplore.plot import raw as raw
    from npexplore.plot import soclib as soclib
    from npexplore.plot.cross_check_plot import cross_check as cross_check
    from npexplore.plot.data_sheets import data_sheet_rates as data_sheet_rates
    from npexplore.plot.dot_plots import comparison as comparison
    from npexplore.plot.elasticity import elasticities as elasticities
    from npexplore.plot.explorer import Explorer as Explorer
    from npexplore.plot.line_plots import curves as curves
    from npexplore.plot.line_plots import published_levels as published_levels
    from npexplore.plot.line_plots import published_points as published_points
    from npexplore.plot.line_plots import with_layout as with_layout
    from npexplore.plot.load import load_figure as load_figure
    from npexplore.plot.roofline_plot import roofline as roofline
    from npexplore.plot.tables import Table as Table
    from npexplore.plot.tables import cross_check_table as cross_check_table
    from npexplore.plot.tables import identity_table as identity_table
    from npexplore.plot.tables import table as table
    from npexplore.plot.tables import verdict_table as verdict_table
    from npexplore.plot.theme import BLACK as BLACK
    from npexplore.plot.theme import BLUE as BLUE
    from npexplore.plot.theme import GREEN as GREEN
    from npexplore.plot.theme import GREY as GREY
    from npexplore.plot.theme import ORANGE as ORANGE
    from npexplore.plot.theme import ORIGIN_COLOURS as ORIGIN_COLOURS
    from npexplore.plot.theme import PURPLE as PURPLE
    from npexplore.plot.theme import SKY as SKY
    from npexplore.plot.theme import VERMILION as VERMILION
    from npexplore.plot.theme import use_theme as use_theme
    from npexplore.plot.timeline import time_lines as time_lines
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, {"ipywidgets": "lab", "anywidget": "lab"})
