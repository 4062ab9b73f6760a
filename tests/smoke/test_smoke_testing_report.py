"""The notebook that tests a router: it finds each planted fault, shows it small, and passes what is mended."""

import pytest
from reference.page_reader import read_as_a_reader
from reference.pages import page_of

NAME = "63_property_test_your_router"


@pytest.mark.slow
def test_each_fault_is_found_with_its_clause_and_passes_when_mended(tmp_path):
    page = page_of(NAME, tmp_path)
    html = page.read_text()
    for found in (
        "no time to live is left (RFC 1812 section 5.3.1)",
        "checksum must be 0x0000, got 0xffff (RFC 1812 section 4.2.2.5, RFC 1624 section",
        "(RFC 1812 section 5.2.4.3 (2))",
        "4 updates",
        "no difference",
    ):
        assert found in html
    assert html.count("a frame of 34 bytes") == 2
    read_as_a_reader(page)
