"""Objects that are cut off, mutated or hostile: one line that says what is wrong, no internal error, no hang."""

import struct
from random import Random

import pytest
from reference.ebpf_kernel import FOLDER, SHIPPED

import npexplore as npx
from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.programs import instructions as isa
from npexplore.programs.elf import program_names

OBJECTS = sorted([*FOLDER.glob("*.o"), *SHIPPED.glob("*.o")])
WORDS = (b"\xff" * 4, bytes(4), b"\1\0\0\0", b"\0\0\0\x80", b"\xff" * 8, b"\x18", b"\x85\0\0\0\x0c")
DRAWS = 200


def damaged(random):
    """Return an object cut off, or with some bytes set, flipped, put in or taken out; half of the changes in code."""
    data = bytearray(random.choice(OBJECTS).read_bytes())
    if random.random() < 0.2:
        return data[: random.randrange(len(data))]
    (at,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    headers = [struct.unpack_from("<IIQQQQ", data, at + 64 * k) for k in range(count)]
    code = [(place, size) for _, _, flags, _, place, size in headers if flags & 4 and size]
    for _ in range(random.choice((1, 2, 5, 30))):
        first, size = random.choice(code) if random.random() < 0.5 else (0, len(data))
        at = first + random.randrange(size)
        match random.randrange(4):
            case 0:
                data[at] ^= 1 << random.randrange(8)
            case 1:
                word = random.choice(WORDS)
                data[at : at + len(word)] = word
            case 2:
                data[at] = random.randrange(256)
            case _:
                del data[at : at + random.choice((0, 0, 1, 8))]
        if len(data) < 20000 and random.random() < 0.01:
            data[at:at] = bytes(8)
    return data


def tried(path, name):
    """Load and run a program of an object; return the message of a refusal."""
    try:
        program = npx.program(path, name)
        program.to_dict()
        assert len(program.run([bytes(64)] * 2, instruction_limit=10_000, memory_bytes=1 << 26)) == 2
    except InputError as error:
        return str(error)
    return None


def names_in(path):
    try:
        return program_names(path)
    except InputError:
        return [None]


@pytest.mark.slow
def test_damaged_objects_run_or_are_refused_in_one_line(tmp_path):
    random = Random(49)
    messages = []
    for _ in range(DRAWS):
        (tmp_path / "x.o").write_bytes(damaged(random))
        messages += [tried(tmp_path / "x.o", name) for name in names_in(tmp_path / "x.o")]
    refused = [one for one in messages if one]
    assert not [one for one in refused if "\n" in one or not one.startswith(f"{tmp_path}/x.o")]
    assert min(len(refused), len(messages) - len(refused)) > DRAWS // 2  # both happen


BEYOND = "the next instruction would be 9, outside the code of 3 slots"
ENDLESS = "an endless loop, from which no exit is reached"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mov r0, 1\ncall 999\nexit", "x.s: helper 999 is unknown; the kernel has helpers 1 to 211: instruction 1"),
        ("mov r0, 1\n\nja +7\nexit", f"{BEYOND}: instruction 1 (ja +7) at x.s:3: ja +7"),
        ("loop: ja loop\nexit", f"{ENDLESS}: instruction 0 (ja -1) at x.s:1: ja loop"),
        ("call local f\nexit\nf: add r0, 1\njne r0, 0, f\nja f", f"{ENDLESS}: instruction 2 (add r0, 1)"),
        ("jeq r0, 1, +1\nlddw r1, 5\nexit", "a jump into a 64-bit constant, which takes two slots: instruction 2"),
        (".map m hash 4 8 0\nlddw r1, map m\nexit", "map 'm' (hash) must have from 1 to 268,435,456 entries, got 0"),
        (".map m array 8 8 1\nlddw r1, map m\nexit", "map 'm' (array) must have a key of 4 bytes, got 8"),
    ],
)
def test_the_command_says_what_cannot_run(tmp_path, capsys, text, message):
    (tmp_path / "x.s").write_text(text, encoding="utf-8")
    assert main(["program", "list", str(tmp_path / "x.s")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_constant_without_its_second_slot_is_refused():
    with pytest.raises(InputError, match="a 64-bit constant without its second slot: instruction 0"):
        npx.program([isa.Instruction(isa.LDDW, 0), isa.Instruction(0xB7), isa.Instruction(isa.EXIT)])
