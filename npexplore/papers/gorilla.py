"""Gorilla: its paper's values, recomputed; its step program, its router's tables, its engine as Verilog."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.designs.gorilla import cycles as cycles
    from npexplore.designs.gorilla.hardware import EngineFiles as EngineFiles
    from npexplore.designs.gorilla.steps import engine_program as engine_program
    from npexplore.designs.gorilla.steps import trie_program as trie_program
    from npexplore.designs.gorilla.traffic import router_tables as router_tables
    from npexplore.study.papers.gorilla import area as area
    from npexplore.study.papers.gorilla import beyond as beyond
    from npexplore.study.papers.gorilla import channels as channels
    from npexplore.study.papers.gorilla import claims as claims
    from npexplore.study.papers.gorilla import in_hardware as in_hardware
    from npexplore.study.papers.gorilla import performance as performance
    from npexplore.study.papers.gorilla import storage as storage
    from npexplore.study.papers.gorilla import storage6 as storage6
    from npexplore.study.papers.gorilla import structures as structures
    from npexplore.study.papers.gorilla import synthesised as synthesised
    from npexplore.study.papers.gorilla import synthesised_systems as synthesised_systems
    from npexplore.study.papers.gorilla import virtual_routers as virtual_routers
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
