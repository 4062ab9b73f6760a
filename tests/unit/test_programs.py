"""Loading eBPF objects and texts, refusals that name instruction and line, faults, counts and paths of a run."""

import re
import shutil
import struct

import pytest
from reference.ebpf_kernel import FOLDER

import npexplore as npx
from npexplore.errors import InputError
from npexplore.plot import programs as figures
from npexplore.programs import instructions as isa
from npexplore.programs import path_tree
from npexplore.programs.assembler import assemble
from npexplore.programs.upper_halves import _read_whole
from npexplore.testing import forwarding_tables


def test_an_object_gives_programs_maps_helpers_and_lines():
    program = npx.program(FOLDER / "tables.o", "flow_table")
    facts = program.to_dict()
    assert facts["helpers"] == {"map_lookup_elem": 1, "map_delete_elem": 1, "map_update_elem": 1}
    assert facts["maps"] == [{"name": "flows", "kind": "hash", "key_bytes": 16, "value_bytes": 16, "max_entries": 64}]
    text = (FOLDER / "tables.c").read_text(encoding="utf-8").splitlines()
    line = program.line_at(
        next(k for k, one in enumerate(program.code) if k > program.entry and one.imm == 3 and one.opcode == isa.CALL)
    )
    assert text[line.line - 1].strip() == line.text
    assert "delete (&flows" in line.text
    with pytest.raises(InputError, match="several programs; choose one with --section or section=: count_classes,"):
        npx.program(FOLDER / "tables.o")
    with pytest.raises(InputError, match=r"'flow_tabel' is unknown \(nearest: flow_table"):
        npx.program(FOLDER / "tables.o", "flow_tabel")


def test_data_sections_have_their_contents_and_keep_what_is_written():
    run = npx.program(str(FOLDER / "filters.o"), "count_seen").run([bytes(64), bytes(60), bytes(14)])
    assert run.verdicts == {"drop": 1, "pass": 2}
    values = [value for name in (".data", ".bss") for value in run.maps[name].values()]
    words = {struct.unpack_from("<Q", value, at)[0] for value in values for at in range(0, len(value) - 7, 4)}
    assert 7 + 64 + 60 + 14 in words


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:30], "is cut off: the file has 30 bytes, an ELF header 64"),
        (
            lambda data: data[: len(data) // 2],
            r"is cut off: its 29 section headers end at byte 17696, the file has 8848",
        ),
        (lambda data: b"hello", "is no ELF object file"),
        (lambda data: data[:5] + b"\2" + data[6:], "is big-endian; only little-endian"),
        (lambda data: data[:18] + b"\x3e\0" + data[20:], "is an object for x86-64 .machine 62., not for eBPF"),
    ],
)
def test_damaged_and_foreign_objects_are_refused_in_one_line(tmp_path, change, message):
    path = tmp_path / "x.o"
    path.write_bytes(change((FOLDER / "filters.o").read_bytes()))
    with pytest.raises(InputError, match=message):
        npx.program(path, "drop_all")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "mov r0, 1\ncall 93\nexit",
            r"helper spin_lock \(93\) is not supported; .*: instruction 1 \(call 93\) at text:2: call 93",
        ),
        ("mov r0, 1", "the next instruction would be 1, outside the code of 1 slots: instruction 0"),
        ("mov r10, 1\nexit", "a register that does not exist, or that is read-only: instruction 0"),
        (".map x bloom 4 4 4\nexit\n", "kind of map 'bloom' is unknown"),
        ("mov r0, 1\nmove r0, 1\nexit", "line 2: 'move r0, 1' is no eBPF instruction"),
        ("jeq r0, 1, nowhere\nexit", "goes to 'nowhere', which is no label"),
    ],
)
def test_what_cannot_run_is_refused_with_its_instruction(text, message):
    with pytest.raises(InputError, match=message):
        npx.program(text)


def test_kernel_functions_callbacks_and_unknown_opcodes_are_refused():
    for slots, message in (
        ([isa.Instruction(isa.CALL, 0, isa.KERNEL_FUNCTION, 0, 5)], "kernel functions"),
        ([isa.Instruction(isa.LDDW, 1, isa.FUNCTION), isa.Instruction(0)], "callbacks"),
        ([isa.Instruction(0x40, 0, 0)], "opcode 0x40 .* is no instruction of RFC 9669 that is supported"),
        ([isa.Instruction(0x37, 0, 0, 2, 5)], "opcode 0x37 with offset 2"),
    ):
        with pytest.raises(InputError, match=message):
            npx.program(isa.encode([*slots, isa.Instruction(isa.EXIT)]))


def test_text_and_code_are_inverse():
    code = npx.program(FOLDER / "tables.o", "subprograms").code
    wide = {slot for slot, one in enumerate(code) if one.opcode == isa.LDDW}
    lines = [isa.text(one) for slot, one in enumerate(code) if slot - 1 not in wide]
    slots, _, _ = assemble("\n".join(lines))
    assert [one for k, one in enumerate(slots) if not {k, k - 1} & wide] == [
        one for k, one in enumerate(code) if not {k, k - 1} & wide
    ]


LOOKUP = """.map m array 4 8 1
mov r2, r10
add r2, -4
stw [r10-4], 0
lddw r1, map m
call map_lookup_elem
"""
RESERVE = """.map ring ringbuf 0 0 4096
lddw r1, map ring
mov r2, 16
mov r3, 0
call ringbuf_reserve
mov r6, r0
mov r1, r0
mov r2, 0
call ringbuf_submit
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ldxw r2, [r1+0]\nldxb r0, [r2+64]\nexit", r"at address 0x4140: instruction 1 \(ldxb r0, \[r2\+64\]\)"),
        ("stxdw [r10-520], r1\nexit", "outside packet"),
        ("loop: jeq r0, 1, out\nja loop\nout: exit", "more than 1,000 instructions: instruction 1"),
        ("mov r0, 0\nloop: add r0, 1\njne r0, 0, loop\nexit", "1,000 instructions: instruction 2 .* at text:3: jne"),
        ("f: call local f\nexit", "more than 8 nested calls"),
        (f"{LOOKUP}ldxdw r0, [r0+1]\nexit", "outside"),
        ("mov r1, 5\nmov r2, r10\ncall map_lookup_elem\nexit", "0x5 is no map that this helper takes"),
        (f"{RESERVE}mov r1, r6\nmov r2, 0\ncall ringbuf_discard\nexit", "is no reserved record of a ring buffer"),
        (f"{RESERVE}ldxb r0, [r6+16]\nexit", "outside packet"),
    ],
)  # fmt: skip
def test_faults_say_instruction_and_address(text, fault):
    run = npx.program(text).run([bytes(64), bytes(64)], instruction_limit=1000)
    (told,) = run.faults
    assert run.verdicts == {"fault": 2}
    assert told["packets"] == 2
    assert re.search(fault, told["fault"])


def test_rows_paths_and_lines_count_the_same_work():
    frames = [bytes(12) + b"\x08\x00" + bytes(50), bytes(64), bytes(10), bytes(12) + b"\x08\x00" + bytes(60)]
    run = npx.program(FOLDER / "filters.o", "by_type").run(frames)
    frame = run.to_frame()
    assert frame["verdict"].tolist() == ["pass", "drop", "aborted", "pass"]
    paths = run.paths
    assert [one["packets"] for one in paths] == [2, 1, 1]
    assert paths[0]["example"] == 0
    assert sum(one["packets"] * one["instructions"] for one in paths) == frame["instructions"].sum()
    assert all(sum(one["classes"].values()) == one["instructions"] for one in paths)
    assert sum(one["instructions"] for one in run.lines()) == frame["instructions"].sum()
    loads = frame[["packet_loads", "stack_loads", "context_loads", "map_loads"]].sum(axis=1)
    assert loads.tolist() == [next(p for p in paths if p["path"] == n)["classes"]["load"] for n in frame["path"]]
    assert run.to_dict()["instructions"]["max"] == frame["instructions"].max()


@pytest.mark.parametrize("name", ["filters.o", "filters"])
def test_names_of_folders_may_have_blanks(tmp_path, name):
    path = tmp_path / "mes règles d'accès" / name
    with pytest.raises(FileNotFoundError if "." in name else InputError):
        npx.program(str(path))
    path.parent.mkdir()
    shutil.copy(FOLDER / "filters.o", path)
    assert npx.program(str(path), "count_seen").code == npx.program(path, "count_seen").code


def test_a_path_names_helpers_with_map_and_sizes():
    run = npx.program(FOLDER / "tables.o", "count_classes").run([bytes(64)])
    (path,) = run.paths
    assert path["helpers"] == {"map_lookup_elem counts (array, 4+16 bytes)": 1}
    assert run.to_frame().loc[0, ["map_loads", "map_stores", "map_lines", "packet_lines"]].tolist() == [2, 2, 1, 1]
    assert run.maps["counts"][bytes(4)] == struct.pack("<QQ", 1, 64)
    assert run.before["counts"][bytes(4)] == bytes(16)


def test_tables_of_a_router_are_asked_for():
    text = "mov r2, r10\nadd r2, -64\nstb [r10-64], 2\nstw [r10-56], 1\nmov r3, 64\nmov r4, 2\ncall fib_lookup\nexit"
    with pytest.raises(
        InputError, match="calls fib_lookup, which asks a router's tables: name the router with --router"
    ):
        npx.program(text).run([bytes(64)])
    run = npx.program(text).run([bytes(64)], fib=forwarding_tables("office"))
    assert "flags 0x2 of fib_lookup are not supported" in run.faults[0]["fault"]


def test_maps_larger_than_the_memory_are_refused():
    text = ".map big hash 16 1024 1000000\nlddw r1, map big\nmov r0, 0\nexit"
    with pytest.raises(
        InputError,
        match=r"maps take 1,\d+,\d+,\d+ bytes, more than the limit of 100,000,000; set a larger one with --memory",
    ):
        npx.program(text).run([bytes(64)], memory_bytes=10**8)


def test_paths_beyond_the_memory_count_as_one():
    text = (
        "ldxw r2, [r1+0]\nldxh r3, [r2+0]\nmov r4, r3\nloop: jeq r4, 0, out\nsub r4, 1\nja loop\nout: mov r0, 2\nexit"
    )
    frames = [n.to_bytes(2, "little") for n in range(200)] * 2
    few = npx.program(text).run(frames, memory_bytes=110_000)
    all_of_them = npx.program(text).run(frames)
    assert len(all_of_them.paths) == 200
    assert 2 < len(few.paths) < 200
    assert few.verdicts == {"pass": 400}
    assert few.to_frame()["instructions"].tolist() == all_of_them.to_frame()["instructions"].tolist()


def test_random_numbers_have_a_seed_and_time_is_the_packets():
    program = npx.program("call get_prandom_u32\nexit\n")
    one, again, other = (program.run([bytes(64)] * 3, seed=seed).rows[:, 22].tolist() for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 3
    assert npx.program("call ktime_get_ns\nexit\n").run("sample:zeek_wikipedia").rows[0, 22] > 10**18


def test_the_tree_of_paths_and_the_verdicts_over_time_hold_every_packet():
    capture = npx.read_capture("sample:zeek_wikipedia")
    run = npx.program(FOLDER / "filters.o", "count_seen").run(capture)
    rows = path_tree(run)
    assert rows[0]["packets"] == len(run)
    assert all(row["share"] == row["packets"] / len(run) for row in rows)
    bars = figures.verdicts(run, capture).data
    assert sum(bar.y.sum() for bar in bars) == len(run)
    time = capture.columns["t_ns"]
    assert max(bar.x[-1] for bar in bars) < (time.max() - time.min()) / 1e9


def test_a_copied_register_is_not_read_before():
    copy, addition = npx.program("mov r1, r2\nadd r1, r2\nexit").code[:2]
    assert [set(_read_whole(one)) for one in (copy, addition)] == [{2}, {1, 2}]


@pytest.mark.parametrize(("dst", "imm"), [(3, 0), (0, 3)])
def test_a_helper_is_called_by_the_register_that_either_clang_names(dst, imm):
    slots = [(0xB7, 3, 0, 0, 8), (isa.CALLX, dst, 0, 0, imm), (0x07, 0, 0, 0, 2), (isa.EXIT, 0, 0, 0, 0)]
    program = npx.program(isa.encode(isa.Instruction(*slot) for slot in slots))
    assert program.run([bytes(60)], cpu=1).verdicts == {"tx": 1}  # its core's number and 2
    assert isa.text(program.code[1]) == "call r3"
