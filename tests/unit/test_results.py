"""Results: the document that a command prints, a table with units, a look in notebooks; one as a labelled array."""

import json
import shlex
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pandas as pd
import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.machine.petri import load_net
from npexplore.networks.description import load_network
from npexplore.networks.solve import solve_network
from npexplore.paths import share
from npexplore.programs import Measurement, read_costs
from npexplore.results import Result
from npexplore.solve.petri import find_markings, find_structure, simulate_net, solve_chain, solve_transient
from npexplore.study import study_machine
from npexplore.study.explaining.sensitivity import Elasticity, Sensitivity
from npexplore.study.explaining.whatif import Change, WhatIf
from npexplore.study.loading.curve import load_curve
from npexplore.study.loading.lossless import LoadSearch
from npexplore.study.loading.mlrsearch import Found, Goal

NIC = npx.design("smartnic")
CAPTURE = str(share("data", "captures", "zeek_wikipedia.pcap"))
NET = load_net("tandem")


@cache
def explained():
    return npx.explain(NIC.with_(cores=2), 64, packets=200, elasticities=False)


@cache
def curve():
    return load_curve(NIC, 64, rates=[1e6, 30e6], packets=300)


@cache
def best():
    knobs = {"cores": [1, 2]}
    return npx.optimise(NIC, 64, knobs=knobs, queueing=1, simulations=2, packets=200, confirm="simulation")


@cache
def results():
    """One of every kind."""
    matters = Sensitivity((Elasticity("cores", "knob", 2, 1.9, 2.1, "", 1.0, 0.9, None, None, -1.0, 1.0),))
    changes = WhatIf((Change("cores", "knob", 2, 4, "", 1.0, 0.9, 1.1, "simulation", "core"),))
    searched = LoadSearch("nic", "64 bytes", "periodic", (Found(Goal(), 2e6, 1e6, 3e6, None, 1e6),), curve().points[:1],
                          curve().saturation["simulation"])  # fmt: skip
    predictions = explained().predictions
    return [
        *predictions.values(), explained(), matters, changes, predictions["simulated"].breakdown, curve(),
        npx.resource("hash_unit").explore(threads=[1, 2]), Measurement(read_costs("epyc_zen4"), (), 1.0),
        curve().points[0], searched, best(), study_machine("smartnic", workloads=[64], changes=False),
        npx.read_capture(CAPTURE).length_cdf(), npx.check(["ixp2400_dram"], seeds=2, packets=100), NIC.run(CAPTURE),
        find_structure(NET), find_markings(NET), solve_chain(NET), solve_transient(NET, [0.0, 1.0]),
        simulate_net(NET, [1], 500),
        *solve_network(load_network("closed_multiclass"), ("bounds", "queueing", "simulation"), (1,), 500),
    ]  # fmt: skip


def test_every_result_has_a_document_and_a_table():
    for result in results():
        document, table = result.to_dict(), result.to_frame()
        assert json.loads(json.dumps(document, allow_nan=False)) == document
        assert isinstance(table, pd.DataFrame)
        assert set(table.attrs["units"]) <= set(table.columns)
        assert {table.attrs["units"][name] for name in table if str(name).endswith("_ns")} <= {"ns"}


def test_every_kind_of_result_is_among_those():
    for module in walk_packages(import_module("npexplore.study").__path__, "npexplore.study."):
        if not module.name.startswith("npexplore.study.papers"):
            import_module(module.name)

    def kinds(of):
        return {of}.union(*(kinds(kind) for kind in of.__subclasses__()))

    known = {type(one).__name__ for one in results()}
    assert {kind.__name__ for kind in kinds(Result)} - known == {
        "Result",
        "NetResult",
        "SolverAnswers",
        "Findings",
        "Calibration",
    }


def test_what_a_notebook_shows_last_is_html():
    latency = explained().predictions["simulated"].latency_s
    others = [NIC, NIC.parameters, NIC.machine(), npx.workload(64), npx.read_capture(CAPTURE), latency]
    for one in (*results(), *others):
        page = one._repr_html_()
        assert "<t" in page
        assert "object at 0x" not in page + repr(one)
        assert "e-0" not in page  # a time in seconds that has no unit of sensible size


def asked(capsys, command):
    assert main([*shlex.split(command), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_documents_are_those_that_the_commands_print(capsys):
    said = asked(capsys, "explain smartnic --set cores=2 --packet-bytes 64 --packets 200 --no-sensitivity")
    mine = explained()
    assert said == mine.to_dict()
    assert said["solvers"] == {name: one.to_dict() for name, one in mine.predictions.items()}
    assert said["breakdown"]["simulated"] == mine.predictions["simulated"].breakdown.to_dict()
    assert asked(capsys, "load smartnic --packet-bytes 64 --rates 1Mpps,30Mpps --packets 300") == curve().to_dict()
    assert asked(capsys, f"trace stats {shlex.quote(str(CAPTURE))}") == npx.read_capture(CAPTURE).to_dict()
    printed = asked(
        capsys, "optimise smartnic --packet-bytes 64 --set cores=1,2 --queueing 1 --simulations 2 --packets 200"
    )
    assert {name: printed[name] for name in best().to_dict()} == best().to_dict()
    methods = ("bounds", "queueing", "simulation")
    network = solve_network(load_network("mm1"), methods, (1,), 500)
    said = asked(capsys, "solve mm1 --seeds 1 --customers 500")
    assert said["results"] == [one.to_dict() for one in network]
    said = asked(capsys, "solve tandem --seeds 1 --customers 500")
    nets = [find_structure(NET), find_markings(NET), solve_chain(NET), simulate_net(NET, [1], 500)]
    assert said["results"] == [one.to_dict() for one in nets]


def test_predictions_become_one_tidy_table():
    designs = [NIC.with_(cores=n) for n in (1, 2)]
    table = npx.to_frame([(made, made.bounds(64)) for made in designs])
    assert table[["design", "cores", "solver"]].values.tolist() == [
        ["smartnic", 1, "bounds"],
        ["smartnic", 2, "bounds"],
    ]
    swept = npx.sweep(npx.grid(NIC, 64, solver="bounds", cores=[1, 2]))
    shared = [name for name in table if name in swept]
    assert len(shared) > 20
    found, other = (one[shared].astype(object).where(one[shared].notna(), "none") for one in (table, swept))
    assert found.equals(other)
    for name in ("rate_mpps", "latency_mean_ns", "utilization_core"):
        assert table.attrs["units"][name] == swept.attrs["units"][name]
    named = npx.to_frame({"small": designs[0].bounds(64), "large": designs[1].bounds(64)})
    assert named["name"].tolist() == ["small", "large"]
    assert npx.to_frame([designs[0].bounds(64)]).iloc[0]["rate_mpps"] == designs[0].bounds(64).to_series()["rate_mpps"]
    one = explained()
    assert npx.to_frame([one, one])["solver"].tolist() == 2 * [*one.predictions, *one.refused]
    assert npx.to_frame(curve()).equals(curve().to_frame())
    for wrong in (3, "amp", [3], [None]):
        with pytest.raises(InputError, match="a table needs results such as predictions, got"):
            npx.to_frame(wrong)


def test_a_sweep_becomes_an_array_with_named_axes():
    loads = [npx.workload(64), npx.workload(512)]
    points = npx.grid(NIC, loads, solver=["bounds", "simulation"], seeds=2, cores=[1, 2, 4])
    rows = npx.sweep(points[:-1], packets=100)
    array = npx.to_xarray(rows)
    assert dict(array.sizes) == {"cores": 3, "workload": 2, "solver": 2, "seed": 2}
    for row in rows.itertuples():
        seeds = [1, 2] if row.solver == "bounds" else [row.seed]
        at = {"cores": row.cores, "workload": row.workload, "solver": row.solver}
        assert {array["rate_mpps"].sel(**at, seed=seed).item() for seed in seeds} == {row.rate_mpps}
    assert np.isnan(array["rate_mpps"].sel(cores=4, workload="512 bytes", solver="simulation", seed=2))
    assert array["rate_mpps"].attrs["units"] == "Mpps"
    assert array.attrs["design"] == "smartnic"
    with pytest.raises(InputError, match=r"axes cores do not tell rows apart: .*; workload, solver, seed differ"):
        npx.to_xarray(rows, ["cores"])
    with pytest.raises(InputError, match="axis 'core' is no column of the sweep"):
        npx.to_xarray(rows, ["core"])
