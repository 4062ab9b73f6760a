"""The conformance table of vde_l3: docs/conformance.md is what was recorded, and says what one can see by hand."""

from reference.conformance_cases import DOCUMENT
from reference.kernel_recording import read
from reference.vde_conformance import MARKS, conformance, table


def test_the_document_has_the_table_of_the_recorded_answers():
    assert DOCUMENT.read_text().split(MARKS[0])[1].split(MARKS[1])[0] == table()


def test_what_it_never_does_is_failed_and_what_it_always_does_is_held():
    verdicts = {row.rule.subject: row.verdict for row in conformance().rows}
    errors = [
        out for _, _, _, sent in read("vde_l3") for _, out in sent if out[23:24] == b"\1" and out[34:35] == b"\x0b"
    ]
    assert errors == []  # nobody is told that a packet's time is over
    assert verdicts["the router's message is sent"] == "failed"
    assert verdicts["dropped: the header checksum is wrong"] == "failed"
    assert verdicts["time to live of what passes"] == verdicts["checksum of what passes"] == "held"
