"""Loads a program into the Linux kernel and runs it on packets by BPF_PROG_TEST_RUN (bpf(2), as root).

Only for x86-64 and arm64 Linux. Each `LinuxProgram` has its own maps, which it closes at the end.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterator, Mapping
from types import TracebackType

from npexplore.errors import InputError
from npexplore.programs import instructions as isa
from npexplore.programs.linux_readers import PerfReader, RingReader
from npexplore.programs.records import MapDefinition, Program, reachable

_SYSCALLS = {"x86_64": 321, "aarch64": 280}
MAP_CREATE, MAP_LOOKUP, MAP_UPDATE, _, MAP_NEXT, PROG_LOAD = range(6)
PROG_TEST_RUN, XDP, ATTRIBUTES, LOG_BYTES = 10, 6, 144, 1 << 20
LPM_TRIE, PROG_ARRAY, PERF_EVENTS, XSKMAP, RINGBUF = 11, 3, 4, 17, 27
PER_CPU = (5, 6, 10)
MAX_OUT = 1 << 13
CONTEXT_BYTES = 24  # struct xdp_md


def _bpf(command: int, *parts: bytes) -> int:
    """Call bpf(2) with attributes packed from `parts` and return its result; raises OSError."""
    number = _SYSCALLS.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise InputError(f"programs run live on Linux on {' and '.join(_SYSCALLS)}, this is {platform.platform()}")
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = ctypes.create_string_buffer(b"".join(parts), ATTRIBUTES)
    result = libc.syscall(number, command, attributes, ATTRIBUTES)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def is_available() -> bool:
    """Return whether this process may load and run programs in the kernel."""
    code = isa.Instruction(0xB7, imm=2), isa.Instruction(isa.EXIT)
    try:
        with LinuxProgram(Program("probe", "main", code, {"main": 0})) as probe:
            return probe.run(bytes(14))[0] == 2
    except (OSError, InputError):
        return False


class LinuxProgram:
    """A program loaded into the kernel with its maps; use it in a `with` block.

    maps: initial contents, as for `npexplore.programs.run`. Raises OSError if this process may not load programs, and
    InputError with the verifier's last lines if the kernel refuses the program.
    """

    def __init__(self, program: Program, maps: Mapping[str, Mapping[bytes, bytes]] | None = None) -> None:
        self.program = program
        self.files: list[int] = []
        self.readers: list[RingReader | PerfReader] = []
        self.cpus = _possible_cpus()
        self.maps: dict[int, int] = {}  # number of a map -> its file
        try:
            for number, definition in program.used_maps.items():
                flags = 1 if definition.kind == LPM_TRIE else 0
                entries = definition.max_entries or (self.cpus if definition.kind == PERF_EVENTS else 0)
                self.maps[number] = self._open(
                    MAP_CREATE,
                    struct.pack(
                        "<IIIII", definition.kind, definition.key_bytes, definition.value_bytes, entries, flags
                    ),
                )
                self._read(number, definition)
                if definition.initial is not None:
                    self._update(self.maps[number], bytes(4), definition.initial.ljust(definition.value_bytes, b"\0"))
            for name, contents in (maps or {}).items():
                number = next(index for index, definition in program.used_maps.items() if definition.name == name)
                for key, value in contents.items():
                    self._put(number, key, value)
            self.file = self._load(program)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> LinuxProgram:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Unload the program and its maps."""
        while self.readers:
            self.readers.pop().close()
        while self.files:
            os.close(self.files.pop())

    def _read(self, number: int, one: MapDefinition) -> None:
        """Open the readers of an output map (ring buffer, perf events), which empty it after each run."""
        if one.kind == RINGBUF:
            self.readers.append(RingReader(self.maps[number]))
        elif one.kind == PERF_EVENTS:
            for cpu in range(min(self.cpus, one.max_entries or self.cpus)):
                reader = PerfReader(cpu)
                self.readers.append(reader)
                self._update(self.maps[number], cpu.to_bytes(4, "little"), reader.file.to_bytes(4, "little"))

    def run(self, packet: bytes, repeat: int = 1, interface: int = 0) -> tuple[int, bytes, int]:
        """Return the verdict, the metadata and packet after the run, and nanoseconds per repetition.

        interface: the receiving interface in the calling thread's namespace (0: any). Raises OSError below 14 bytes.
        """
        out = ctypes.create_string_buffer(MAX_OUT)
        data = ctypes.create_string_buffer(packet, len(packet))
        context = ctypes.create_string_buffer(struct.pack("<IIIIII", 0, len(packet), 0, interface, 0, 0))
        fields = struct.pack(
            "<IIIIQQII", self.file, 0, len(packet), MAX_OUT, ctypes.addressof(data), ctypes.addressof(out), repeat, 0
        )
        if interface:
            fields += struct.pack("<IIQ", CONTEXT_BYTES, 0, ctypes.addressof(context))
        attributes = ctypes.create_string_buffer(fields, ATTRIBUTES)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(_SYSCALLS[platform.machine()], PROG_TEST_RUN, attributes, ATTRIBUTES) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        for reader in self.readers:
            reader.empty()
        _, verdict, _, length, _, _, _, duration = struct.unpack_from("<IIIIQQII", attributes.raw)
        return verdict, out.raw[:length], duration

    def contents(self, name: str, cpu: int = 0) -> dict[bytes, bytes]:
        """Return the contents of a map (per-CPU: of processor cpu), key -> value; {} for maps without listed keys."""
        number, definition = next(
            (index, definition) for index, definition in self.program.used_maps.items() if definition.name == name
        )
        if definition.kind in (PROG_ARRAY, PERF_EVENTS, XSKMAP, RINGBUF):
            return {}
        return dict(self._entries(self.maps[number], definition, cpu))

    def _entries(self, file: int, one: MapDefinition, cpu: int) -> Iterator[tuple[bytes, bytes]]:
        key, following = b"", ctypes.create_string_buffer(one.key_bytes)
        step = -(-one.value_bytes // 8) * 8
        value = ctypes.create_string_buffer(step * max(self.cpus, 1))
        while True:
            previous = ctypes.create_string_buffer(key, one.key_bytes)
            try:
                at = ctypes.addressof(previous) if key else 0
                _bpf(MAP_NEXT, struct.pack("<IxxxxQQ", file, at, ctypes.addressof(following)))
            except FileNotFoundError:
                return
            key = following.raw
            try:
                _bpf(
                    MAP_LOOKUP, struct.pack("<IxxxxQQQ", file, ctypes.addressof(following), ctypes.addressof(value), 0)
                )
            except FileNotFoundError:  # an empty entry of a devmap or cpumap
                continue
            begin = cpu * step if one.kind in PER_CPU else 0
            yield key, value.raw[begin : begin + one.value_bytes]

    def _put(self, number: int, key: bytes, value: bytes) -> None:
        definition = self.program.maps[number]
        if definition.kind == PROG_ARRAY:
            entry = value.decode()
            target = Program(self.program.path, entry, self.program.code, self.program.entries, self.program.maps)
            value = self._load(target).to_bytes(4, "little")
        if definition.kind in PER_CPU:
            value = value.ljust(-(-len(value) // 8) * 8, b"\0") * self.cpus
        self._update(self.maps[number], key, value)

    def _update(self, file: int, key: bytes, value: bytes) -> None:
        keys, values = ctypes.create_string_buffer(key, len(key)), ctypes.create_string_buffer(value, len(value))
        _bpf(MAP_UPDATE, struct.pack("<IxxxxQQQ", file, ctypes.addressof(keys), ctypes.addressof(values), 0))

    def _open(self, command: int, *parts: bytes) -> int:
        self.files.append(_bpf(command, *parts))
        return self.files[-1]

    def _load(self, program: Program) -> int:
        code = ctypes.create_string_buffer(isa.encode(self._linked(program)))
        license_, log = ctypes.create_string_buffer(b"GPL"), ctypes.create_string_buffer(LOG_BYTES)
        count = (len(code) - 1) // isa.SLOT.size
        places = ctypes.addressof(code), ctypes.addressof(license_)
        try:
            return self._open(
                PROG_LOAD, struct.pack("<IIQQIIQ", XDP, count, *places, 1, LOG_BYTES, ctypes.addressof(log))
            )
        except OSError as error:
            if not log.value:
                raise
            lines = log.value.decode(errors="replace").strip().splitlines()[-4:-1]
            raise InputError(f"{program.path}: the kernel refuses {program.name!r}: {' / '.join(lines)}") from error

    def _linked(self, program: Program) -> list[isa.Instruction]:
        """Return the slots of a program's functions, its entry first, with map numbers replaced by file descriptors."""
        reached = reachable(program, tail_calls=False)
        slots = sorted(reached | {slot + 1 for slot in reached if program.code[slot].opcode == isa.LDDW})
        calls = {
            slot for slot in slots if program.code[slot].opcode == isa.CALL and program.code[slot].src == isa.LOCAL
        }
        starts = sorted({program.entry} | {slot + 1 + program.code[slot].imm for slot in calls})
        function = {slot: max(start for start in starts if start <= slot) for slot in slots}
        order = sorted(slots, key=lambda slot: (function[slot] != program.entry, slot))
        new_slot = {slot: number for number, slot in enumerate(order)}
        code = []
        for slot in order:
            instruction = program.code[slot]
            if slot in calls:
                instruction = instruction._replace(imm=new_slot[slot + 1 + instruction.imm] - new_slot[slot] - 1)
            elif instruction.opcode == isa.LDDW and instruction.src in (isa.MAP_HANDLE, isa.MAP_VALUE):
                instruction = instruction._replace(imm=self.maps[instruction.imm & 0xFFFFFFFF])
            elif slot and program.code[slot - 1].opcode == isa.LDDW and program.code[slot - 1].src in (1, 2):
                instruction = instruction._replace(imm=program.code[slot - 1].imm >> 32)
            code.append(instruction)
        return code


def _possible_cpus() -> int:
    """Return the number of processors for which the kernel keeps values of per-CPU maps."""
    try:
        with open("/sys/devices/system/cpu/possible", encoding="ascii") as file:
            return int(file.read().strip().replace("-", ",").split(",")[-1]) + 1
    except OSError:
        return os.cpu_count() or 1
