"""The pages that are no paper's: each runs, answers on its first screen with numbers, and a reader can use it."""

import re
from html import unescape

import pytest
from reference.page_reader import read_as_a_reader
from reference.pages import page_of, plain, scored

pytestmark = pytest.mark.slow

FEWER = {  # the same questions with fewer packets, at fewer points
    "00_start": {"(1, 2, 3, 4, 6, 8, 12, 16, 24, 32)": "(1, 8, 32)"},
    "51_gorilla_hardware": {"seeds=1, packets=1000": "seeds=1, packets=200"},
    "60_design_space": {
        "list(range(1, 33))": "[1, 8, 32]",
        "[1, 2, 4, 8, 16, 32]": "[1, 8, 32]",
        'confirm="simulation"': 'confirm="simulation", packets=500',
    },
    "61_your_capture": {},
    "62_your_machine": {"packets=10_000": "packets=1_000", "packets=5_000": "packets=500"},
    "64_play": {},
    "65_your_program": {"max_examples=100": "max_examples=20", "max_examples=300": "max_examples=40"},
    "66_xdp_rate": {},
    "67_packet_run": {},
    "70_petri": {"ACCESSES = 200_000": "ACCESSES = 10_000", "for cards in (1, 2, 3)": "for cards in (1, 2)"},
    "71_pcie": {
        "keys=keys, seeds=1": "keys=keys, seeds=1, packets=300",
        '("bdw2630", 0)': "()",  # withheld rows of one host
    },
    "72_server": {'npx.check(["server"], seeds=1)': 'npx.check(["server"], seeds=1, packets=300)'},
    "73_dram": {"n=20_000": "n=4_000"},
    "74_one_resource": {
        "0.3, 0.5, 0.7, 0.8, 0.9, 0.95": "0.7",
        "(1, 2, 4, 6, 8)": "(1, 4)",
        "THREADS = [1, 2, 4, 8, 16]": "THREADS = [1, 4]",
        "SHARES = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0]": "SHARES = [0.5, 1.0]",
    },
}
ANSWERED = set(FEWER) - {"64_play"}  # sliders are an answer of their own
CLOSE = r"reproduces \d+ of the \d+ published values .* error of the values: \d+ %"
PAGE = "the whole page"
FACTS = {  # what a reader learns in a minute, by question
    "65_your_program": {
        "What becomes of my packets?": ["Of 136: "],
        "Where is the work?": [r"hottest line has \d+ % of all: router.c:\d+"],
        "Is it right?": [": 0 failures in 0 clusters"],
    },
    "66_xdp_rate": {
        "How fast?": ["13.6 million packets a second", "4 cores 47.2 million"],
        "What takes the time?": ["core binds, with 4 the link", "83 % of a core", "call map_lookup_elem, 8 %"],
        "How near are such predictions?": ["128 measured rates of 3 programs", r"0\.6 % in the median", "7 % at worst"],
    },
    "67_packet_run": {
        "Which flow suffered, and when?": ["lost 3 of its 6 packets", "All 22 lost packets came between 63 and 66 µs"],
        "Where did packets wait?": ["65% of all waiting is for threads"],
        "What did the router do with the rest?": ["Of 104 packets", "forwards 71 and refuses 33"],
        PAGE: ["2,520of 2,520 packets that leave, or are lost, as the recursion says", "480of these are lost"],
    },
    "71_pcie": {
        "How fast?": ["64 bytes get at most 32.3 Gb/s of a wire of 63", "2,048 bytes 53.7"],
        "What binds?": [r"reads are in flight \(reads\)", r"2,048 the wire, .*\(link.down\)"],
        "How close to the measurements?": [CLOSE],
    },
    "72_server": {
        "How many cores?": ["One core drops 24 million packets of 64", "more than 4 help no more: 4 reach 84 million"],
        "What binds?": ["core itself with fewer than 4 cores", r"link to the host \(rx.up\)"],
        "How close to the measurements?": [CLOSE],
    },
    "73_dram": {
        "What would memory of today give the IXP2400?": ["2007 moves 10.2 Gb/s", "hbm3_6400 moves 16[0-9] Gb/s"],
        "What binds?": [r"row hits the pins: 9\d to 9\d %", r"At random .* opened: 1\d % are left of hbm2e_3200"],
        "What does it ask for in return?": ["as wide as a burst, 32 or 64 bytes", "who needs 8 of them pays for all"],
    },
    "74_one_resource": {
        "How much of the roofline does one thread reach?": ["banks 51%", "bus 100%", "hash 9%"],
        "What breaks the naive formula?": ["4 of them give one thread 29 Mpps and not 57"],
        "Who is right?": [r"queueing is at most [0-4]\.\d% off"],
        PAGE: [r"hot:0\.525 %26\.02(2[56]\.\d+){3}"],  # row hits: theory beside simulation
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FEWER)
def test_a_page_answers_and_a_reader_in_a_browser_finds_nothing_amiss(name, tmp_path):
    page = page_of(name, tmp_path, FEWER[name])
    first = page.read_text().split('<details class="chapter">')[0]
    answers = dict(re.findall(r"<dt>([^<]+\?)</dt><dd>([^<]+)</dd>", first))
    assert len(answers) == 3 * (name in ANSWERED)
    assert all(re.search(r"\d", told) for told in answers.values())
    answers[PAGE] = plain(page.read_text())
    for question, facts in FACTS.get(name, {}).items():
        for fact in facts:
            assert re.search(fact, unescape(answers[question])), fact
    if name in ("71_pcie", "72_server"):
        scored(page.read_text())
    assert first.count("data-figure=") >= (name in ANSWERED)
    read_as_a_reader(page)
