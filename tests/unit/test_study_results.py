"""A user's own numbers: joined to published rows, predicted where nobody published them, faults by line and column."""

import json

import pytest

from npexplore.cli import main
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import load
from npexplore.study.checking.check import ROLES, check
from npexplore.study.checking.results import read_results

FIG9 = "ixp2400.fig9.bandwidth.n30"


def file(tmp_path, text, name="mine.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_numbers_by_key_in_the_rows_own_unit_or_another(tmp_path):
    row = load()[FIG9]
    found = read_results(file(tmp_path, f"key,value\n{FIG9},{row.point}\n"))
    assert found(row) == row.point
    assert found(load()["ixp2400.fig9.bandwidth.n0"]) is None
    other = read_results(file(tmp_path, f"key,value,unit\n{FIG9},{row.si(row.point)},bit/s\n"))
    assert other(row) == pytest.approx(row.point)


def test_conditions_find_the_published_row(tmp_path):
    text = "design,scheme,mix,quantity,value,unit\nixp2400,base,amp,throughput,5,Gb/s\n"
    (result,) = read_results(file(tmp_path, text)).listed
    assert not result.published or result.row.conditions["mix"] == "amp"
    row = load()[FIG9]
    told = {k: v for k, v in row.conditions.items() if k != "design"}
    head, cells = ",".join(told), ",".join(map(str, told.values()))
    text = f"design,{head},quantity,value,unit\n{row.design},{cells},{row.quantity},7000,Mb/s\n"
    (result,) = read_results(file(tmp_path, text)).listed
    assert result.published
    assert load().measurement(result.row.key) == load().measurement(FIG9)
    assert result.value == pytest.approx(row.from_si(7e9))


def test_of_two_rows_at_one_point_the_one_that_is_predicted_is_compared(tmp_path):
    """3.2 Gb/s stands in the introduction, too, where an earlier model is cited."""
    text = "design,mix,quantity,value,unit\nixp2400,dos,throughput,3.2,Gb/s\n"
    (result,) = read_results(file(tmp_path, text)).listed
    assert result.row.role in ROLES
    assert result.row.key != "ixp2400.claim.intro.throughput_64"


def test_published_and_unpublished_numbers_are_compared_with_ours(tmp_path):
    text = (
        "design,narrow_share,banks,quantity,value,unit\n"
        "ixp2400_dram,0.3,,bandwidth,9.0,Gb/s\n"
        "ixp2400_dram,0.3,16,bandwidth,12000,Mb/s\n"
    )
    results = read_results(file(tmp_path, text))
    found = check(["ixp2400_dram"], seeds=2, packets=400, results=results)
    first, second = found.results
    row = load()[first["key"]]
    assert first["error"] == pytest.approx(row.relative_error(row.from_si(9e9)))
    assert first["verdict"] == row.verdict(row.from_si(9e9))
    assert first["difference"] == pytest.approx(first["value"] / first["predicted"] - 1)
    assert (second["key"], second["published"], second["error"], second["verdict"]) == (None,) * 4
    assert second["unit"] == "Mb/s"
    assert 5000 < second["predicted"] < 15000  # 16 banks: more than Fig. 9 prints for four
    assert second["predicted"] > first["predicted"] * (1000 if first["unit"] == "Gb/s" else 1)
    assert {entry["key"]: entry["results"] for entry in found.rows}[first["key"]] == first["value"]


HEAD, END = "design,quantity,value,unit\n", "quantity,value,unit\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.csv: needs a line of column names and at least one line of numbers, got 0"),
        ("key,value\n", "at least one line of numbers, got 1"),
        ("key,val\na,1\n", "mine.csv:1: needs the columns key,value or design,...,quantity,value,unit; 'design' is"),
        ("key,key\na,1\n", "mine.csv:1: column names must be different and not empty, got 'key'"),
        (f"key,value\n{FIG9}\n", "mine.csv:2: must have 2 cells, got 1"),
        (f"key,value\n{FIG9},fast\n", "mine.csv:2: column 'value' must be a finite number, got 'fast'"),
        (f"key,value\n{FIG9},nan\n", "mine.csv:2: column 'value' must be a finite number, got 'nan'"),
        ("key,value\nixp2400.fig9.x,1\n", "mine.csv:2: column 'key': 'ixp2400.fig9.x' is unknown"),
        (f"key,value\n{FIG9},1\n{FIG9},2\n", "mine.csv:3: repeats the row of line 2"),
        (f"key,value,unit\n{FIG9},1,Mpps\n", "mine.csv:2: column 'unit' must measure what"),
        (HEAD + "ixp2401,throughput,1,Gb/s\n", "mine.csv:2: column 'design': 'ixp2401' is unknown"),
        (HEAD + "ixp2400,throughputs,1,Gb/s\n", "column 'quantity': 'throughputs' is unknown (nearest: throughput"),
        (HEAD + "ixp2400,throughput,1,Gbit\n", "mine.csv:2: column 'unit': 'Gbit' is unknown"),
        (f"design,bank,{END}ixp2400,7,throughput,1,Gb/s\n", "mine.csv:2: column 'bank' is unknown (nearest: banks"),
        (HEAD + "ixp2400,throughput,1,Mpps\n", "column 'unit' must measure what Gb/s, Mb/s measures, got 'Mpps'"),
        (f"design,mix,{END}ixp2400,nix,throughput,1,Gb/s\n", "mine.csv:2: column 'mix': 'nix' is unknown"),
        (HEAD.replace(",", ";"), "at least one line of numbers, got 1"),
        (HEAD.replace(",", ";") + "a;b;c;d\n", "got 'design;quantity;value;unit' (commas between columns)"),
        (f"design,banks,{END}ixp2400,99,throughput,1,Gb/s\n", "'banks': knob banks must be in 1..64, got '99'"),
    ],
)
def test_a_fault_is_told_by_line_and_column(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read_results(file(tmp_path, text))
    assert message in str(caught.value)


def test_a_row_without_packets_is_named(tmp_path):
    path = file(tmp_path, "design,quantity,value,unit\nsmartnic,throughput,9.5,Gb/s\n")
    with pytest.raises(
        InputError, match=r"line2: smartnic brings no packets of its own: give its mix, a name, or a len"
    ):
        check(["smartnic"], results=read_results(path))


def test_a_file_that_is_not_there_is_told_once(tmp_path):
    with pytest.raises(InputError) as caught:
        read_results(tmp_path / "none.csv")
    assert str(caught.value) == f"{tmp_path / 'none.csv'}: No such file or directory"


def test_a_file_of_a_spreadsheet_begins_with_a_mark(tmp_path):
    path = file(tmp_path, "")
    path.write_bytes(b"\xef\xbb\xbf" + f"key,value\r\n{FIG9},9.5\r\n".encode())
    assert [result.value for result in read_results(path).listed] == [9.5]


@pytest.mark.parametrize(("column", "message"), [("resource", "'nix' is unknown"), ("scheme", "'(none)' is unknown")])
def test_a_utilization_of_no_known_resource_is_refused(tmp_path, column, message):
    cell = "nix" if column == "resource" else "hb"
    results = read_results(file(tmp_path, f"design,{column},{END}ixp2400,{cell},utilization,50,%\n"))
    with pytest.raises(UnknownNameError, match="resource") as caught:
        check(results.designs, seeds=2, results=results, keys=[])
    assert message in str(caught.value)


def test_a_withheld_row_stays_hidden(tmp_path):
    hidden = next(row for row in load() if row.role == "withheld" and row.numeric and row.design == "raw")
    results = read_results(file(tmp_path, f"key,value\n{hidden.key},1\n"))
    (line,) = results.compared([])
    assert (line["published"], line["error"], line["verdict"]) == (None, None, "withheld")


def test_the_command_checks_the_designs_of_the_file_alone(tmp_path, capsys):
    path = str(file(tmp_path, f"key,value\n{FIG9},9.5\n"))
    assert main(["check", "--results", path, "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert FIG9 in out
    assert "yours" in out
    assert main(["check", "--results", path, "--seeds", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [line["key"] for line in document["results"]] == [FIG9]
    assert {row["key"] for row in document["rows"]} >= {FIG9}
    assert {load()[row["key"]].design for row in document["rows"]} == {"ixp2400_dram"}
