"""Cycles measured at the doors of generated hardware: the law of the trials, and the event engine that takes them."""

from dataclasses import replace

import pytest

from npexplore.designs import design
from npexplore.designs.gorilla import cycles
from npexplore.designs.gorilla.design import issue_cycles, residence_cycles
from npexplore.designs.gorilla.traffic import lowered
from npexplore.errors import InputError
from npexplore.study.checking.changed import compare_checks
from npexplore.study.papers.gorilla import in_hardware

NP = design("gorilla")
P = NP.parameters
SHORT = {"boot_us": 10, "window_us": 40}


def test_all_trials_keep_one_law_of_whole_cycles():
    found = cycles.law(P)
    assert found.residual < 1e-6
    assert all(value == pytest.approx(round(value), abs=1e-6) for value in found.terms.values())
    assert len(cycles.trials()) > 2 * len(cycles.TERMS)
    assert {one.kind for one in cycles.trials()} >= {"ipv4", "ipv6", "mpls_1", "mpls_4"}


@pytest.mark.parametrize("k", [0, 9, -1])
def test_a_trial_that_is_a_cycle_off_is_seen(k):
    found = list(cycles.trials())
    found[k] = replace(found[k], cycles=found[k].cycles + 1)
    assert cycles.law(P, found).residual > 0.1 or cycles.law(P, found).terms != cycles.law(P).terms


def test_the_law_is_found_again_in_trials_that_were_made_of_one():
    told = dict(zip(cycles.TERMS, (3.0, 2.0, 1.5, 0.5, 0.25, 4.0, 1.0, 2.0, 6.0), strict=True))
    made = [
        replace(one, cycles=sum(a * b for a, b in zip(cycles.terms_of(P, one), told.values(), strict=True)))
        for one in cycles.wanted()
    ]
    assert cycles.law(P, made).terms == pytest.approx(told, abs=1e-4)


def test_trials_that_do_not_tell_terms_apart_are_refused():
    with pytest.raises(InputError, match="of the 9 terms"):
        cycles.law(P, cycles.trials()[:4])


def test_what_a_trial_passes_follows_from_the_step_program():
    one = cycles.Trial("ipv4", "ipv4", True, cycles.ENGINE, 1, 12)
    assert cycles.terms_of(P, one) == [1, 9, 8, 2, 5, 1, 24, 2, 0]  # nine substeps, eight steps, two calls in turn
    two = cycles.Trial("mpls_2", "mpls", False, cycles.PROCESSOR, 8, 12)
    assert cycles.terms_of(P, two) == [1, 9, 9, 1, 7, 0, 0, 0, 0]


def test_a_split_step_has_one_context_edit_if_asked():
    (path,) = lowered(P).paths
    assert path.edits()[-1] == len(path.steps) == 8
    assert path.edits(False) == (0, 1, 2, 2, 3, 4, 5, 6, 7)


def test_calls_inside_the_engine_hold_nobody_up():
    found = lowered(P)
    (path,) = found.inline(["integrity2", "integrity4"]).paths
    assert [[group.accelerator for group in groups] for _, groups in path.waits] == [["lookup4"]]
    assert found.inline([]) == found


def test_cycles_of_a_packet_with_measured_terms_by_hand():
    """15 of work; 12 of the unit, 4 of ports and arbiters; 2 until the thread has the next packet."""
    with_measured = in_hardware.with_measured(NP).parameters
    assert residence_cycles(with_measured) == (15, 15 + 16 + 2)
    assert issue_cycles(with_measured, 9, 8) == 17
    board = with_measured.with_(protocols="ipv4", clusters=16, engines=3, threads=2)
    assert residence_cycles(board)[0] == 15


def test_the_fitted_machine_is_as_it_was():
    issue, stay = residence_cycles(P)
    assert (issue, stay) == pytest.approx((16 + 17.054, 16 + 17.054 + 14))


def recorded(name, offered):
    return next(one for one in in_hardware.rates() if (one.name, one.offered) == (name, offered))


@pytest.mark.parametrize(
    "name", ["16-4-1, counting off", "16-4-2, counting off", "16-6-1, counting on", "16-4-2, counting on"]
)
def test_the_event_engine_has_the_rate_of_the_hardware(name):
    """Unfitted, within 3 %; with the fitted cycles it is far off, so that the test can fail."""
    (row,) = in_hardware.beside(NP.with_(**SHORT), [recorded(name, 0)])
    assert abs(row["difference"]) < 0.03
    assert abs(row["fitted"] / row["hardware"] - 1) > 0.05


def test_published_losses_are_none_with_measured_cycles():
    """16-4-4 is printed to lose packets: it does with the fitted cycles, and not with the hardware's."""
    keys = ["gorilla.perf.ipv4.16-4-4.nofc", "gorilla.perf.ipv4.16-6-2.nofc"]
    found = compare_checks({"gorilla": in_hardware.with_measured(NP)}, seeds=1, packets=1000, keys=keys)
    assert {row["key"]: row["change"] for row in found.rows()} == dict(zip(keys, ("breaks", "same"), strict=True))
    assert not compare_checks({"gorilla": NP}, seeds=1, packets=1000, keys=keys).to_dict()["counts"]["breaks"]
