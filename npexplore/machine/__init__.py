"""Describe a machine of your own in Python: its resources, its threads, and what a packet does on it.

from npexplore.machine import FifoServer, Ingress, Machine, Pool

def forward(m, packet):
    m.hash.serve(bytes=packet.packet_bytes)
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.dimensions import quantity as quantity
    from npexplore.machine.caches import set_distances as set_distances
    from npexplore.machine.described.parts import Part as Part
    from npexplore.machine.described.parts import part as part
    from npexplore.machine.lone import unloaded_visit as unloaded_visit
    from npexplore.machine.machine import Machine as Machine
    from npexplore.machine.machine import Pool as Pool
    from npexplore.machine.machine import Start as Start
    from npexplore.machine.mixes import Mix as Mix
    from npexplore.machine.mixes import MixFile as MixFile
    from npexplore.machine.mixes import load_mix as load_mix
    from npexplore.machine.mixes import solve_mix as solve_mix
    from npexplore.machine.parameters import Parameters as Parameters
    from npexplore.machine.program import Packet as Packet
    from npexplore.machine.program import Recorder as Recorder
    from npexplore.machine.program import visit as visit
    from npexplore.machine.resources import *  # noqa: F403  (the kinds, and what they are made of)
    from npexplore.machine.resources.base import Resource as Resource
    from npexplore.machine.resources.base import Server as Server
    from npexplore.machine.resources.base import count_of as count_of
    from npexplore.machine.resources.base import rate_of as rate_of
    from npexplore.machine.resources.base import time_of as time_of
    from npexplore.machine.resources.dram_device import dram_device as dram_device
    from npexplore.machine.resources.dram_device import dram_devices as dram_devices
    from npexplore.machine.resources.dram_run import DramRun as DramRun
    from npexplore.machine.resources.dram_run import run_accesses as run_accesses
    from npexplore.machine.resources.dram_streams import Accesses as Accesses
    from npexplore.machine.resources.dram_streams import dram_accesses as dram_accesses
    from npexplore.machine.resources.dram_timing import dram_parts as dram_parts
    from npexplore.machine.resources.ingress import Ingress as Ingress
    from npexplore.rows.distributions import Batch as Batch
    from npexplore.rows.distributions import Deterministic as Deterministic
    from npexplore.rows.distributions import Distribution as Distribution
    from npexplore.rows.distributions import Empirical as Empirical
    from npexplore.rows.distributions import Erlang as Erlang
    from npexplore.rows.distributions import Exponential as Exponential
    from npexplore.rows.distributions import Hyperexponential as Hyperexponential
    from npexplore.rows.distributions import OnOff as OnOff
    from npexplore.rows.distributions import Uniform as Uniform
    from npexplore.rows.expressions import ceildiv as ceildiv
    from npexplore.rows.expressions import maximum as maximum
    from npexplore.rows.expressions import minimum as minimum
    from npexplore.rows.expressions import round_up as round_up
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
