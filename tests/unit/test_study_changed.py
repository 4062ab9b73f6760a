"""A changed machine against the published numbers: what moves hangs on the change, and nothing else does."""

import json

import pytest

from npexplore.cli import main
from npexplore.designs import DESIGNS, NETS, base_of, design, known_designs, with_machines
from npexplore.errors import InputError, UnknownNameError
from npexplore.plot.changed import errors
from npexplore.reads import remembered
from npexplore.study.checking.changed import changed_machines, compare_checks, knob_changes

KEYS = ["ixp2400.fig9.bandwidth.n0", "ixp2400.fig9.loss30"]


def written(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text)
    return str(path)


def test_a_machine_stands_in_under_a_listed_name_and_only_there(tmp_path):
    @remembered()
    def banks():
        return design("ixp2400").parameters.banks

    usual = banks()
    mine = design(written(tmp_path, 'extends = "ixp2400"\nset = { banks = 16 }'))
    assert (base_of(mine), base_of(design("ixp2400_dram"))) == ("ixp2400", "ixp2400_dram")
    with with_machines({"ixp2400": mine, "other": mine}):
        assert (banks(), design("other"), known_designs()) == (16, mine, [*DESIGNS, *NETS, "other"])
    assert (banks(), known_designs()) == (usual, [*DESIGNS, *NETS])


def test_settings_go_to_the_machines_that_have_the_knob(tmp_path):
    found = changed_machines((), {"bus_clock_mhz": "0.1 GHz"})
    assert set(found) == {name for name in DESIGNS if "bus_clock_mhz" in DESIGNS[name]().parameters.file.parameter}
    assert all(made.parameters.bus_clock_mhz == 100 for made in found.values())
    assert knob_changes("ixp2400", found["ixp2400"]) == "ixp2400: bus_clock_mhz=100.0"
    path = written(tmp_path, 'extends = "ixp2400"\nset = { banks = 16 }')
    assert knob_changes("ixp2400", changed_machines([path], {"threads": 3})["ixp2400"]) == "mine: threads=3, banks=16"
    with pytest.raises(UnknownNameError, match=r"knob of ixp2400 'bank' is unknown .nearest: banks"):
        changed_machines([path], {"bank": 3})
    with pytest.raises(InputError, match="replaces ixp2400, which another machine already replaces"):
        changed_machines([path, "ixp2400"], {})
    with pytest.raises(InputError, match="nothing is changed"):
        compare_checks(changed_machines(["ixp2400"], {}))


def test_a_slower_bus_breaks_the_bandwidth_and_a_knob_nobody_reads_nothing():
    slow = compare_checks(changed_machines(["ixp2400_dram"], {"bus_clock_mhz": 120}), keys=KEYS, seeds=2, packets=600)
    rows = {row["key"]: row for row in slow.rows()}
    assert (rows[KEYS[0]]["change"], rows[KEYS[1]]["verdict_after"]) == ("breaks", "off")
    assert rows[KEYS[0]]["after"] / rows[KEYS[0]]["before"] == pytest.approx(120 / 200, rel=0.1)
    assert slow.rms()["after"] > slow.rms()["before"]
    same = compare_checks(changed_machines(["ixp2400_dram"], {"me_clock_mhz": 500}), keys=KEYS, seeds=2, packets=600)
    assert [row["change"] for row in same.rows()] == ["same", "same"]
    assert same.rms()["before"] == same.rms()["after"]


def test_the_command_compares_two_files_and_writes_a_page(tmp_path, capsys):
    slow = written(tmp_path, 'extends = "ixp2400_dram"\nset = { bus_clock_mhz = "120 MHz" }')
    other = written(tmp_path, 'extends = "ixp2400_dram"\nset = { bus_clock_mhz = 130 }', "other.toml")
    page = tmp_path / "page.html"
    asked = ["check", "--design", slow, "--against", other, "--seeds", "2", "--html", str(page)]
    assert main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["changed"] == "mine: bus_clock_mhz=120.0"
    assert document["counts"]["moves"] > 0 == document["counts"]["agrees"]
    assert all(row["before"] > row["after"] for row in document["rows"] if row["unit"] == "Gb/s")
    text = page.read_text()
    assert "mine: bus_clock_mhz=120.0" in text
    assert "Root mean square error" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "bankz=3"], f"knob of {', '.join(DESIGNS)} 'bankz'"),
        (["--design", "ixp2400", "--set", "banks=3,4"], "--set banks takes one value here, got 3,4"),
        (["--design", "ixp2400", "--set", "banks=3", "--sets"], "--sets works with the machines as they are listed"),
        (["--design", "smartnic", "--set", "cores=3"], "no published row belongs to smartnic"),
        (
            ["--design", "ixp2400", "--set", "banks=3", "--against", "raw"],
            "--against raw is a raw and cannot be compared with ixp2400",
        ),
    ],
)
def test_what_cannot_be_compared_is_one_line(arguments, message, capsys):
    assert main(["check", *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_line_joins_both_errors_of_each_row_in_per_cent():
    rows = [
        {"key": k, "error_before": 0.1, "error_after": after, "change": "moves"}
        for k, after in (("a", 0.2), ("b", 0.4))
    ]
    line, before, after = errors(rows, "changes").data
    assert (line.x, line.y) == ((10, 40, None, 10, 20, None), ("b", "b", "b", "a", "a", "a"))
    assert (before.x, after.x) == ((10, 10), (40, 20))
