"""Every verdict of the audit depends on the printed numbers: changing one far enough turns it over."""

import msgspec
import pytest

from npexplore.ledger import Ledger, load
from npexplore.ledger.audit import UNEXPLAINED, audit, identities, judge

FOUND = audit()
FORMULAS = {(i.paper, i.id): i for i in identities()}


def scaled(key, factor):
    """The ledger with one number multiplied, also where other rows repeat it: a misprint."""

    def change(row):
        row = msgspec.structs.replace(row, same_as=None)
        if row.key != key:
            return row
        point, lo, hi = (None if x is None else x * factor for x in (row.point, row.lo, row.hi))
        return msgspec.structs.replace(row, point=point, lo=lo, hi=hi)

    return Ledger(change(row) for row in load())


def verdicts(finding, *factors):
    formula = FORMULAS[finding.paper, finding.id]
    return {judge(formula, scaled(key, factor)).verdict for key in finding.keys for factor in factors}


def name(finding):
    return f"{finding.paper}:{finding.id}"


@pytest.mark.parametrize("finding", [f for f in FOUND if f.verdict == "consistent" and f.printed], ids=name)
def test_a_consistent_identity_breaks_when_a_number_does(finding):
    assert "inconsistent" in verdicts(finding, 0.01, 40)


@pytest.mark.parametrize("finding", [f for f in FOUND if f.verdict == "inconsistent"], ids=name)
def test_an_inconsistent_identity_is_explained_and_holds_once_a_number_is_mended(finding):
    assert finding.explanation != UNEXPLAINED
    ratio = finding.recomputed / finding.printed if "!=" not in finding.formula else 1.01
    assert "consistent" in verdicts(finding, ratio, 1 / ratio)


@pytest.mark.parametrize("finding", [f for f in FOUND if f.verdict == "undecidable"], ids=name)
def test_an_undecidable_identity_names_what_is_withheld(finding):
    withheld = [key for key in finding.keys if load()[key].role == "withheld"]
    assert withheld
    assert all(key in finding.explanation for key in withheld)


def test_a_consistent_zero_breaks_too():
    ledger = load()
    row = ledger["gorilla.fig7.100.ipv4.lu.qdrii.mpls_share"]
    changed = Ledger(msgspec.structs.replace(r, point=5, lo=4.5, hi=5.5) if r.key == row.key else r for r in ledger)
    assert judge(FORMULAS["gorilla", "100-ipv4-lu-mpls-share-qdrii"], changed).verdict == "inconsistent"
