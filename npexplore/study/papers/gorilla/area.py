"""Computes the look-up tables (LUTs) of a configuration as a share of a device (Figs. 11, 12, Sec. 4.6).

    share = engines x (logic x steps / all steps + thread x threads) x (LUTs of the reference / LUTs of the device)

Logic and thread are fitted to two cells of the table on the reference device (Virtex-6 HX380T), the ratio of the
Virtex-7 to a third cell. The numbers of LUTs of other devices are known. An engine for fewer protocols has less logic,
in proportion to its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from npexplore.designs.gorilla.steps import PROTOCOLS, engine_program
from npexplore.designs.gorilla.traffic import router_tables
from npexplore.errors import one_of
from npexplore.machine.parameters import Parameters

REFERENCE, FITTED = "v6hx380t", "v7855t"
PARAMETERS = ("lut_engine", "lut_thread")
DEVICES: Mapping[str, str] = {
    "v5tx240t": "luts_v5tx240t", REFERENCE: "luts_v6hx380t", "v6lx240t": "luts_v6lx240t", FITTED: "lut_v7_ratio",
}  # fmt: skip


@cache
def steps_of(protocols: tuple[str, ...], counting: bool = False) -> int:
    """Return the number of steps of a program for some protocols, after splitting."""
    return len(engine_program(router_tables(), protocols, counting))


def scale(p: Parameters, device: str) -> float:
    """Return the factor from a share of the reference to a share of a device."""
    name = DEVICES[one_of("device", device, DEVICES)]
    return float(p[name]) if device == FITTED else float(p.luts_v6hx380t) / float(p[name])


def engine_share(p: Parameters, threads: int, protocols: tuple[str, ...] = PROTOCOLS) -> float:
    """Return the share of the reference's LUTs of one engine."""
    p.assume("engine_area")
    logic = float(p.lut_engine) * steps_of(protocols) / steps_of(PROTOCOLS)
    return (logic + float(p.lut_thread) * threads) / 100


def lut_share(p: Parameters, device: str, engines: int, threads: int, protocols: tuple[str, ...] = PROTOCOLS) -> float:
    """Return the share of a device's LUTs of `engines` engines (all clusters together)."""
    return engines * engine_share(p, threads, protocols) * scale(p, device)


def fitted_to(one: float, four: float, other: float, engines: int = 32, more: int = 64) -> tuple[float, float, float]:
    """Return (logic, thread, ratio) from shares with 1 and 4 threads, and of `more` engines on another device."""
    thread = (four - one) / 3 / engines
    return one / engines - thread, thread, (other / more) / (four / engines)
