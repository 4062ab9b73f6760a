"""What the audit finds in the five papers, what it makes of bad formulas, and what its command prints."""

import json

import pytest

from npexplore.cli import main
from npexplore.errors import InputError, UnknownNameError
from npexplore.ledger import load
from npexplore.ledger.auditing import audit, identities, judge
from npexplore.ledger.identities import read
from npexplore.paths import share

FIELDS = {"paper", "id", "reading", "formula", "keys", "printed", "recomputed", "verdict", "explanation"}


@pytest.fixture(scope="module")
def found():
    return {(finding.paper, finding.id): finding for finding in audit()}


# Recomputed by hand from the papers' printed numbers.
@pytest.mark.parametrize(
    ("paper", "name", "verdict", "printed", "recomputed"),
    [
        ("ixp2400_buffering", "fig9-loss-30", "inconsistent", 7.7, 6.979),
        ("ixp2400_buffering", "dram-validation-error-ipsec", "consistent", 4, 4.054),
        ("ixp2400_buffering", "on-chip-share-min", "inconsistent", 30, 20),
        ("ixp2400_buffering", "improvement-product-amp", "consistent", 19.26, 19.251),
        ("ixp2400_buffering", "gain-of-a-wide-bus-amp", "consistent", 33, 32.856),
        ("ixp2400_buffering", "dram-twice-the-throughput-base-amp", "inconsistent", 10.13, 10.178),
        ("ixp2400_buffering", "hash-demand-w128_b4", "consistent", 3459.05e6, 3460e6),
        ("ixp2400_buffering", "peak-of-base", "consistent", 5.05, 5.0513),
        ("raw_router", "nanoseconds-latency.ipv4.64", "inconsistent", 293, 1623.5),
        ("raw_router", "latency-is-the-sum-of-stages", "consistent", 690, 692),
        ("raw_router", "two-line-cards", "inconsistent", 12, 5.9904),
        ("raw_router", "null-over-iii-on-the-trace", "inconsistent", 37, 74.157),
        ("soclib_npu", "sum-of-elements", "consistent", 112502, 112502),
        ("soclib_npu", "baseline-packet-time", "consistent", 40000, 40313.5),
        ("soclib_npu", "per-processor-45", "inconsistent", 0.56 / 45, 0.011),
        ("ixp1200_diffserv", "faster-sram", "inconsistent", 2.5, 3.998),
        ("ixp1200_diffserv", "bits-of-a-packet", "consistent", 282, 281.6),
        ("gorilla", "counting-at-200-mpps-16-6-4", "inconsistent", 200, 133.33),
        ("gorilla", "rrc02-level-3-blocks", "inconsistent", 210924, 210944),
        ("gorilla", "rrc00-total", "consistent", 2442000, 2442000),
        ("gorilla", "prefix-counts-differ", "inconsistent", 344029, 344029),
        ("ixp2400_buffering", "narrow-share-frg", "inconsistent", 30, 400 / (2 * 9.763 + 2)),
        ("ixp2400_buffering", "tail-saves-the-same-time-psc", "consistent", 0.043 / 0.162, 0.0393 / 0.148),
        ("ixp2400_buffering", "fig9-mixture-40", "inconsistent", 8.96, 8.8775),
        ("ixp2400_buffering", "no-significant-improvement-w64_b8", "inconsistent", 250 / 3210, 0.077),
        ("ixp2400_buffering", "more-banks-fill-the-bus-amp", "consistent", 6124, 6124.12),
        ("ixp2400_buffering", "padding-psc-at-most", "consistent", 27.086, 36),
        ("raw_router", "click-by-cycles", "inconsistent", 10, 2798 / (690 / 0.425)),
        ("raw_router", "null-router-moves-words", "inconsistent", 718, 3074),
        ("raw_router", "packets-inside-64", "consistent", 15.829, 16),
        ("raw_router", "two-line-cards-check", "inconsistent", 12, 11.159),
        ("raw_router", "trace-by-length", "inconsistent", 8.9, 6.9906),
        ("soclib_npu", "whole-packets", "inconsistent", 689, 700),
        ("soclib_npu", "even-mix-of-paths", "inconsistent", 40000, 84305),
        ("soclib_npu", "lock-of-the-input-engines-exp3", "inconsistent", 0.56, 2 * 448 / 30534),
        ("ixp1200_diffserv", "packets-in-table1.ls-and-in-all", "inconsistent", 580859, 566406),
        ("ixp1200_diffserv", "line-and-hyperbola-of-fig6", "inconsistent", 39.25e6, 30.293e6),
        ("ixp1200_diffserv", "forwarding-in-frames", "inconsistent", 1.8, 1.8 * 64 / 84),
        ("gorilla", "flows-with-whole-counters", "inconsistent", 5.5e6, 4e6 * 18 / 216),
        ("gorilla", "fig13-short-delay-in-the-machine", "inconsistent", 32, 16),
        ("gorilla", "any-mix-of-ipv4-and-ipv6", "inconsistent", 200, 1200 / 9),
        ("gorilla", "lut-of-two-devices-e4-t1", "inconsistent", 28 / 27, 73 / 75),
    ],
)
def test_known_findings(found, paper, name, verdict, printed, recomputed):
    finding = found[paper, name]
    assert finding.verdict == verdict
    assert finding.printed == pytest.approx(printed, rel=1e-4)
    assert finding.recomputed == pytest.approx(recomputed, rel=1e-4)


def test_withheld_numbers_are_recomputed_where_the_others_are_printed(found):
    finding = found["raw_router", "null-over-iv-on-the-trace"]
    assert (finding.verdict, finding.printed, finding.recomputed) == ("undecidable", 1, None)
    finding = found["raw_router", "overhead-beyond-the-null-router"]
    assert (finding.verdict, finding.printed, finding.recomputed) == ("undecidable", None, 3490 - 416 - 718)


def test_what_blind_values_decided(found):
    """FRG's steps do not make its total; the shares of Fig. 7 follow one law, cut off."""
    frg, psc = (found["ixp2400_buffering", f"improvement-product-{trace}"] for trace in ("frg", "psc"))
    assert (frg.verdict, psc.verdict) == ("inconsistent", "consistent")
    assert frg.recomputed == pytest.approx(100 * (1.1065 * 1.0654 * 1.0494 - 1))
    shares = [found["gorilla", f"{case}-mpls-share-of-two-thirds-{memory}"] for case, memory in (
        ("100-ipv6", "qdrii"), ("200-ipv4", "qdrii"), ("200-ipv6", "qdrii"), ("200-ipv6", "qdriiplus"))]  # fmt: skip
    assert [(int(share.recomputed), share.printed, share.verdict) for share in shares] == [
        (printed, printed, "consistent") for printed in (27, 42, 69, 27)
    ]


def test_identities_have_names_of_their_own():
    names = [(identity.paper, identity.id) for identity in identities()]
    assert len(names) == len(set(names))
    assert {paper for paper, _ in names} == set(load(share("data", "published")).papers)


def test_every_contradiction_has_an_explanation_and_no_template_is_left(found):
    for finding in found.values():
        assert finding.explanation or finding.verdict == "consistent"
        assert "<" not in (finding.explanation or "")
        assert "<" not in finding.id


def test_papers_are_chosen_by_either_name():
    assert {finding.paper for finding in audit(["raw", "gorilla"])} == {"raw_router", "gorilla"}
    with pytest.raises(UnknownNameError, match=r"paper 'rawr' is unknown \(nearest: raw"):
        audit(["rawr"])


@pytest.fixture
def one(tmp_path):
    def write(text):
        file = tmp_path / "ixp2400_buffering.toml"
        file.write_text(text, encoding="utf-8")
        return list(read(file))

    return write


def test_each_repeats_an_identity(one):
    text = '[[identity]]\nid = "x-<t>"\nreading = "of <t>"\nformula = "{fig13.bus.<t>} <= 1"\n'
    text += 'each = [{ t = "amp" }, { t = "psc" }]'
    assert [(i.id, i.keys) for i in one(text)] == [("x-amp", ("fig13.bus.amp",)), ("x-psc", ("fig13.bus.psc",))]
    assert [i.reading for i in one(text)] == ["of amp", "of psc"]


def test_a_hypothesis_says_so(one):
    text = '[[identity]]\nid = "x"\nreading = "-"\nformula = "{dram.banks} = 4"\n'
    assert [one(text + more)[0].hypothesis for more in ("", "hypothesis = true")] == [False, True]


def test_within_narrows_the_left_side(one):
    text = '[[identity]]\nid = "x"\nreading = "-"\nformula = "{trace.mode_small} = 44"\n'  # around 40: 35 to 45
    assert judge(one(text)[0], load()).verdict == "consistent"
    assert judge(one(text + "within = 0.05")[0], load()).verdict == "inconsistent"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[identity]]\nid = "x"\nformula = "{dram.banks}"',
            "must have an id, a reading and a formula with one of = <= >= !=",
        ),
        ('[[identity]]\nid = "x"\nformula = "1 = 2 = 3"', "must have an id, a reading and a formula with one of"),
        ('[[identity]]\nid = "x"\nformula = "1 = 1"', "must have an id, a reading and a formula"),
        ('[[identity]]\nformula = "1 = 1"', "must have an id, a reading"),
        ('[[identity]]\nid = "x"\nformla = "1 = 1"', "field 'formla' is unknown (nearest: formula, remark)"),
        ("[[identities]]", "table 'identities' is unknown (nearest: identity)"),
        ("[[identity", "must be a readable TOML file"),
        ('[identity]\nid = "x"', "must be [[identity]] entries, got [identity]"),
    ],
)
def test_a_bad_file_is_one_line(one, text, message):
    with pytest.raises(InputError) as error:
        one(text)
    assert message in str(error.value)
    assert str(error.value).startswith("ixp2400_buffering.toml: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("{dram.bank} = 4", "identity 'x': key 'dram.bank' is unknown (nearest: dram.banks"),
        ("{dram.banks} = four", "identity 'x': formula must use + - * / **"),
        ("{dram.banks} = (4", "identity 'x': formula must be arithmetic"),
        ("{dram.banks} = 10.0 ** 400", "identity 'x': "),
        ("{dram.banks} = (0 - 2) ** 2", "identity 'x': a power needs a base above 0"),
        ("{dram.banks} = ceil(1, 2)", "identity 'x': "),
    ],
)
def test_a_bad_formula_is_one_line(one, formula, message):
    (identity,) = one(f'[[identity]]\nid = "x"\nreading = "-"\nformula = "{formula}"')
    with pytest.raises(InputError) as error:
        judge(identity, load())
    assert message in str(error.value)


def test_the_command_prints_one_document(capsys):
    assert main(["audit", "--paper", "soclib", "--paper", "raw", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["paper"] for row in rows} == {"soclib_npu", "raw_router"}
    assert all(set(row) >= FIELDS for row in rows)
    assert {row["verdict"] for row in rows} == {"consistent", "inconsistent", "undecidable"}


def test_the_command_shows_people_the_contradictions(capsys):
    assert main(["audit", "--paper", "soclib_npu"]) == 0
    out = capsys.readouterr().out
    assert "per-processor-45" in out
    assert "one alone" in out
    assert out.rstrip().endswith("29 consistent, 14 inconsistent, 2 undecidable")


def test_the_command_knows_its_papers(capsys):
    assert main(["audit", "--paper", "gorila"]) == 2
    assert capsys.readouterr().err == "npexplore: paper 'gorila' is unknown (nearest: gorilla)\n"
