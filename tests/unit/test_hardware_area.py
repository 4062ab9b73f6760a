"""LUTs out of the table of syntheses: its hashes are those of today's Verilog; what is predicted, and of what."""

import pytest
from reference import hardware_areas

from npexplore.designs import design
from npexplore.errors import InputError
from npexplore.hardware import area
from npexplore.ledger import load
from npexplore.paths import share
from npexplore.study.papers.gorilla import synthesised

P = design("gorilla").parameters
CHECKED = "gorilla.fig12.v6hx380t.e6.t1"


KINDS = sorted({(one.program, one.stores, one.scheduler) for one in area.syntheses()})


@pytest.mark.parametrize(("program", "stores", "scheduler"), KINDS)
def test_the_table_is_of_the_verilog_of_today(program, stores, scheduler):
    today = area.hashes(hardware_areas.text_of(program, stores, scheduler))
    mine = [one for one in area.syntheses() if (one.program, one.stores, one.scheduler) == (program, stores, scheduler)]
    old = [one for one in mine if (one.program_hash, one.template_hash) != today]
    assert mine
    assert not old, f"make the table anew with `{hardware_areas.MAKE}`: {len(old)} of {len(mine)} engines have changed"


PARTS = hardware_areas.parts_of(share(*hardware_areas.PARTS))


@pytest.mark.parametrize("one", PARTS, ids=lambda one: f"{one.module} {one.parameters} {one.stores} {one.tool}")
def test_the_parts_are_of_the_verilog_of_today(one):
    assert one.text_hash == hardware_areas.part_hash(hardware_areas.part_text(one.stores), one.module)


def test_hashes_tell_steps_and_template_apart():
    text = "module step_a ();\nendmodule\nmodule engine ();\nendmodule\n"
    steps, template = area.hashes(text)
    assert area.hashes(text.replace("engine", "motor")) == (steps, area.hashes(text.replace("engine", "motor"))[1])
    assert area.hashes(text.replace("engine", "motor"))[1] != template
    assert area.hashes(text.replace("step_a", "step_b"))[0] != steps
    assert area.hashes(text.replace("step_a", "step_b"))[1] == template
    with pytest.raises(InputError, match="a module beside its steps"):
        area.hashes("module step_a ();\nendmodule\n")


@pytest.mark.parametrize(
    "text",
    [
        "     LUT6    1110\n     RAM32M  553\n     FDRE 757\n     MUXF7 735\n",
        "  1110 1.2E+3 LUT6\n 553 - RAM32M\n 757 FDRE\n",
    ],
)
def test_cells_are_counted_as_either_version_tells_them(text):
    assert hardware_areas.counted(text) == {"LUT6": 1110, "RAM32M": 553, "FDRE": 757}


def test_luts_of_an_engine_are_least_mean_and_most_of_its_tools():
    known = [one for one in area.syntheses() if one.scheduler == "ready"]
    found = [one.luts for one in known if (one.program, one.threads, one.stores) == ("ipv4", 4, "lut_ram")]
    luts = area.engine_luts("ipv4", 4, "lut_ram")
    assert (luts.low, luts.mean, luts.high) == (min(found), sum(found) / len(found), max(found))
    assert luts.low <= luts.mean <= luts.high
    with pytest.raises(InputError, match="the nearest are"):
        area.engine_luts("ipv4", 3, "lut_ram")
    assert area.lut_slope([(1, 10.0), (2, 13.0), (4, 19.0)]) == pytest.approx(3)


def test_a_share_is_engines_times_luts():
    cell = synthesised.shares(P, load()[CHECKED].conditions, "registers")
    assert cell.share == pytest.approx(100 * 48 * area.engine_luts("ipv4", 1, "registers").mean / 239_040)
    assert cell.low <= cell.share <= cell.high


def test_one_calibration_cell_gives_the_scale_and_no_other_row_may():
    for stores in synthesised.STORES:
        for cell in synthesised.CELLS:
            scaled = synthesised.scale(P, stores, cell) * synthesised.shares(P, load()[cell].conditions, stores).share
            assert scaled == pytest.approx(load()[cell].point)
        with pytest.raises(InputError, match="role 'check'"):
            synthesised.scale(P, stores, CHECKED)


def test_the_memory_whose_growth_over_threads_is_nearest_is_chosen():
    def grown(stores):
        return area.engine_luts("ipv4", 4, stores).mean / area.engine_luts("ipv4", 1, stores).mean

    wanted = load()[synthesised.FOUR].point / load()[synthesised.ONE].point
    chosen = synthesised.chosen_store(P)
    assert all(abs(grown(chosen) / wanted - 1) <= abs(grown(one) / wanted - 1) for one in synthesised.STORES)


def test_readers_without_a_model():
    assert synthesised.constant() == pytest.approx((27 + 50 + 48) / 3)
    near = {key: synthesised.nearest(load()[key].conditions) for key in (CHECKED, "gorilla.fig12.v7855t.e4.t1")}
    assert near == {CHECKED: 27, "gorilla.fig12.v7855t.e4.t1": 48}
