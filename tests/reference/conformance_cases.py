"""The conformance table of the Linux kernel: a router of both families, what the kernel did with the probes, and drawn.

`python tests/reference/conformance_cases.py` asks the kernel of this machine anew, records it and writes the table of
docs/conformance.md. What the kernel tells an address only now and then is asked of a kernel that has told nothing.
"""

import gzip
import json
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.golden_tables import rows
from reference.kernel_recording import FOLDER, lines_of, read

from npexplore.golden.router.configuration import resolve_router
from npexplore.golden.router.policy import Policy
from npexplore.golden.router.records import PortRecord, RouteRecord, RouterFile
from npexplore.testing.conformance import Tally, failure
from npexplore.testing.drawing import cases_for
from npexplore.testing.examining import judge_of
from npexplore.testing.kernel_limits import Told
from npexplore.testing.linux_kernel import LinuxKernel
from npexplore.testing.probes import probes

DOCUMENT = Path(__file__).parents[2] / "docs" / "conformance.md"
DRAWN = 300
MARKS = "<!-- table: kernel -->\n", "\n<!-- end of table -->"
SHOWN_CLUSTERS = 5  # on the page; npexplore conform shows all
ROUTER = resolve_router(
    RouterFile(
        port=[
            PortRecord(name="a", address="10.0.0.1/24", mac="02:00:00:00:00:00", peer_mac="02:00:00:00:01:00",
                       address6="2001:db8:1::1/64"),
            PortRecord(name="b", address="10.1.0.1/24", mac="02:00:00:00:00:01", peer_mac="02:00:00:00:01:01",
                       address6="2001:db8:2::1/64", mtu=1280),
            PortRecord(name="c", address="10.2.0.1/24", mac="02:00:00:00:00:02", peer_mac="02:00:00:00:01:02",
                       mtu=576),
        ],
        route=[
            RouteRecord(prefix="20.0.0.0/8", via="10.1.0.2"),
            RouteRecord(prefix="21.0.0.0/8", via="10.0.0.2"),
            RouteRecord(prefix="22.0.0.0/8", via="10.2.0.2"),
            RouteRecord(prefix="23.0.0.0/8", kind="blackhole"),
            RouteRecord(prefix="24.0.0.0/8", kind="unreachable"),
            RouteRecord(prefix="25.0.0.0/8", kind="prohibit"),
            RouteRecord(prefix="2001:db8:a::/48", via="2001:db8:2::2"),
            RouteRecord(prefix="2001:db8:b::/48", via="2001:db8:1::2"),
            RouteRecord(prefix="2001:db8:c::/48", kind="blackhole"),
            RouteRecord(prefix="2001:db8:d::/48", kind="unreachable"),
            RouteRecord(prefix="2001:db8:e::/48", kind="prohibit"),
        ],
        policy=Policy(answers=True),
    )
)  # fmt: skip


def ask(cases):
    """Return (port, frame, what the kernel sends) for the cases that one kernel or a fresh one answers for sure."""
    golden, pending, found = judge_of(ROUTER, "linux"), dict(enumerate(cases)), {}
    while pending:
        left, told = {}, Told(ROUTER)
        with LinuxKernel(ROUTER) as kernel:
            kernel.introduce(cases)
            for number, (port, frame) in pending.items():
                if told.may_ask(port, frame, golden.forward(port, frame)):
                    found[number] = (port, frame, kernel.forward(port, frame))
                else:
                    left[number] = (port, frame)
        fresh = [Told(ROUTER).may_ask(port, frame, golden.forward(port, frame)) for port, frame in left.values()]
        pending = {number: case for (number, case), sure in zip(left.items(), fresh, strict=True) if sure}
        print(len(found), "asked,", len(pending), "left")
    return [found[number] for number in sorted(found)]


def conformance(answers, profile):
    """Return the table of what the kernel did under a profile."""
    golden, tally = judge_of(ROUTER, profile), Tally(ROUTER, len(answers))
    for port, frame, sent in answers:
        outcome = golden.forward(port, frame)
        tally.count(outcome, failure(port, frame, outcome, sent))
    return tally.conformance()


def recorded():
    """Return the recorded answers: (port, frame, what the kernel sent)."""
    return [(port, frame, out) for _, port, frame, out in read("conformance")]


def told(found, who):
    """Return what a page says of a conformance table: its largest clusters."""
    tried = {row.rule: row.tried for row in found.rows}
    lines = []
    for cluster in found.clusters[:SHOWN_CLUSTERS]:
        rule, difference = cluster.smallest.key
        instead = difference.removesuffix(" all the same") or "another value"
        lines.append([str(cluster.failures), str(tried[rule]), rule.clause, rule.subject, instead])
    return "\n".join([
        f"The {SHOWN_CLUSTERS} largest clusters, in which {who} differs from the profile:", "",
        rows(["failures", "of", "clause", "rule", "instead"], lines),
    ])  # fmt: skip


def table():
    """Return the table of the document."""
    version, answers = lines_of("conformance")[0]["kernel"], recorded()
    strict, like = (conformance(answers, profile) for profile in ("rfc1812", "linux"))
    return "\n".join([
        f"Linux {version}. Profile `rfc1812`: {strict.headline()}.", "", f"Profile `linux`: {like.headline()}.", "",
        told(strict, "the kernel"),
    ])  # fmt: skip


def main():
    """Ask, record, write the table."""
    answers = ask(list(dict.fromkeys([*probes(ROUTER), *cases_for(ROUTER, DRAWN)])))
    lines = [json.dumps({"kernel": platform.release().split("-")[0], "cases": len(answers)})]
    lines += [
        json.dumps({"name": "", "port": port, "frame": frame.hex(), "out": [[p, f.hex()] for p, f in out]})
        for port, frame, out in answers
    ]
    (FOLDER / "conformance.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    before, behind = DOCUMENT.read_text().split(MARKS[0])[0], DOCUMENT.read_text().split(MARKS[1])[-1]
    DOCUMENT.write_text(before + MARKS[0] + table() + MARKS[1] + behind)


if __name__ == "__main__":
    main()
