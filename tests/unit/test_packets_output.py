"""What stands beside a file while it is written, and who takes away what a killed process left there."""

import os
import subprocess
import sys

from npexplore.packets.output import part_of, replacing


def test_the_parts_of_processes_that_are_gone_are_swept(tmp_path):
    target = tmp_path / "a[1].*.pcap"
    left, mine, other = part_of(target), part_of(target), part_of(tmp_path / "b.pcap")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dead = left.with_name(left.name.replace(f".{os.getpid()}.", f".{gone.pid}."))
    parent = left.with_name(left.name.replace(f".{os.getpid()}.", f".{os.getppid()}."))
    elsewhere = dead.with_name(f".{target.name}.another-computer.{gone.pid}.part")
    for path in (dead, parent, elsewhere, other):
        path.write_bytes(b"half")
    with replacing("-", target) as part:
        assert part == mine
        assert not dead.exists()
        part.write_bytes(b"whole")
    assert target.read_bytes() == b"whole"
    assert {path.name for path in tmp_path.iterdir()} == {target.name, parent.name, elsewhere.name, other.name}
