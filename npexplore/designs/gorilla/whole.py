"""Gorilla's processor for whole frames, as Verilog: it splits off bodies and recombines them in order (Sec. 4.1).

Frames enter and leave in words of 16 bytes: a frame of 64 bytes takes four cycles of its lane, a header alone takes
one. Where steps/bodies.py splits a frame at the end of its headers, this hardware splits it after the window that the
engine reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from npexplore.designs.gorilla.hardware import Case, miscounted
from npexplore.designs.gorilla.processor import TAG
from npexplore.designs.gorilla.steps.router import Box
from npexplore.designs.gorilla.system import SystemFiles
from npexplore.errors import InputError
from npexplore.golden.reasons import by_code
from npexplore.hardware.packing import taken
from npexplore.hardware.playback import MOST_STALLS, STALLS, Found
from npexplore.hardware.shapes import Octets, OneOf, Parts
from npexplore.hardware.simulators import run_built, simulator
from npexplore.hardware.templates.bodies import BYTES, FRAMES, LENGTH, WORD, Framing, bodies_text, frames_text
from npexplore.hardware.templates.frame_bench import MOST_WORDS, frame_bench_text
from npexplore.hardware.templates.frames import SPLIT
from npexplore.hardware.templates.group import at
from npexplore.hardware.templates.inside import other_heads
from npexplore.machine.parameters import Parameters

BODY_WORDS = 1024  # words in a lane's body queue
Frames = Iterator[tuple[int, bytes, bool]]  # port, frame, whether it is left to the control processor


def words_of(port: int, frame: bytes) -> list[int]:
    """Return a frame as input words {port, last, bytes, word}; an empty frame is one word without bytes."""
    parts = [frame[k : k + BYTES] for k in range(0, len(frame), BYTES)] or [b""]
    rows = [(len(part), int.from_bytes(part.ljust(BYTES, b"\xa5"), "big")) for part in parts]
    ends = [k == len(parts) - 1 for k in range(len(parts))]
    return [port << WORD | end << 133 | size << 128 | word for end, (size, word) in zip(ends, rows, strict=True)]


def frames_of(words: Sequence[str], port_bits: int) -> Frames:
    """Yield the frames of output words {left to control, port, last, bytes, word}; undefined bits count as 0."""
    data, side = b"", 0
    for text in words:
        if set(text.lower()) & set("xz"):
            text = text.lower().replace("x", "0").replace("z", "0")
        word = int(text, 16)
        data, side = data + (word & (1 << 128) - 1).to_bytes(BYTES, "big")[: word >> 128 & 31], word >> WORD
        if word >> 133 & 1:
            yield side & (1 << port_bits) - 1, data, bool(side >> port_bits)
            data = b""


class FrameFiles(SystemFiles):
    """The texts of a processor's files, with whole frames in and out; body_words: words in each lane's body queue.

    Raises InputError if the processor does not restore the packets' order.
    """

    def __init__(
        self, p: Parameters, box: Box, protocols: Sequence[str] = ("ipv4",), clusters: int | None = None,
        lookups: str = "ideal", body_words: int = BODY_WORDS,
    ) -> None:  # fmt: skip
        super().__init__(p, box, protocols, clusters, lookups)
        if not self.in_order:
            raise InputError("whole frames meet their bodies in order of arrival: reorder must be on, got 'off'")
        frame = self.program.shapes["frame"]
        assert isinstance(frame, Octets)
        self.window, self.body_words = frame.window, body_words
        self.fields = [name for name in self.results.at if not name.split(".")[-1].isdigit() or name == self._sent()[0]]
        self.framing = self._framing()

    @property
    def longest(self) -> int:
        """The bytes of the longest frame that may enter."""
        return self.window + BYTES * (self.body_words - 1)

    def _sent(self) -> tuple[str, str, Octets]:
        """Return the register names of a sent frame's port and bytes, and the shape of the bytes."""
        shape = self.program.shapes["sent"]
        assert isinstance(shape, OneOf)
        k = next(k for k, (_, choice) in enumerate(shape.choices) if isinstance(choice, Parts))
        parts = shape.choices[k][1]
        assert isinstance(parts, Parts)
        octets = parts.parts[1]
        assert isinstance(octets, Octets)
        return f"sent.is{k}.0", f"sent.is{k}.1", octets

    def _framing(self) -> Framing:
        port, sent, octets = self._sent()
        results, begins = self.results, self.begins
        window_words, port_bits = self.window // BYTES, at(len(self.box.golden.router.ports))
        most_words = max(window_words, -(-octets.window // BYTES))
        count_bits = at(most_words + 1) + 5

        def part(name: str, bits: int, constant: int) -> str:
            if name not in results.at:
                return f"{bits}'d{constant}"
            low, width = results.at[name]
            register = f"v[{low + min(width, bits) - 1}:{low}]"  # a port may have a sign bit, a length an unused bit
            return f"{{{bits - width}'d0, {register}}}" if bits > width else register

        first_bits = {k: begins.at[name][0] for k in range(self.window) if (name := f"frame.{k}") in begins.at}
        length, count = (
            part(f"{sent}.length", LENGTH, octets.length[0]),
            part(f"{sent}.count", count_bits, octets.count[0]),
        )
        bytes_out = [results.at[f"{sent}.{k}"][0] for k in range(octets.window)]
        verdict = [results.at[name] for name in self.fields]
        return Framing(
            window_words, TAG, begins.bits, results.bits, port_bits, first_bits,
            begins.at["port"], begins.at["frame.length"], bytes_out, f"v{results.slice('sent.kind')}",
            f"v{results.slice('left_to_control')}", part(port, port_bits, 0), length, count, verdict,
            max(2, self.lane.places or self.cluster.places), self.body_words,
        )  # fmt: skip

    def _inner(self) -> tuple[str, list[str]]:
        """Return the name of the enclosed module, and its lanes."""
        return super()._top()

    def _top(self) -> tuple[str, list[str]]:
        return FRAMES, self._inner()[1]

    def engine(self, apart: bool = True) -> str:
        """Return the Verilog of all modules, followed by those that split and join frames."""
        inner, lanes = self._inner()
        others = other_heads(self.around, self.counts)
        joiner = frames_text(self.framing, inner, lanes, others)
        return "\n".join([super().engine(apart), SPLIT, bodies_text(self.framing, 800_000), joiner])

    def _streams(self, k: str, behind: str) -> list[str]:
        port, bits = self.framing.port, self.framing.verdict
        return [
            f"| `in{k}_*` | words of frames{behind and f' ({behind})'}: {{port ({port}), last, bytes (5), word (128)}}"
            f", of up to {self.longest} bytes |",
            f"| `out{k}_*` | words of frames: {{left to control, port, last, bytes, word}} |",
            f"| `told{k}_*` | a verdict of each frame, {bits} bits: {{tag, {', '.join(reversed(self.fields))}}} |",
        ]

    def _rows(self) -> list[str]:
        return [*super()._rows(), f"| `framed` | frames split and joined again, {self.body_words} words of bodies |"]

    def _benched(self) -> str:
        _, lanes = self._top()
        return frame_bench_text(FRAMES, lanes, self.framing, self._units(), self.reads, self.counting, self._beside())

    def verify(
        self, folder: Path, cases: Sequence[Case], rated: Sequence[Case] | None = None, simulator_name: str = "",
        brief: bool = False,
    ) -> Found:  # fmt: skip
        """Simulate frames and compare them with the step program, as `ProcessorFiles.verify` does.

        Raises InputError for a frame longer than the body queue can hold.
        """
        second = cases if rated is None else rated
        longest = max(len(frame) for _, frame in [*cases, *second])
        if longest > self.longest:
            raise InputError(f"a frame may have {self.longest} bytes, as many as the body queue holds, got {longest}")
        command = self.build(folder, simulator_name or simulator(len(cases)))
        faults, message, cycles = 0, "", 0
        for frames, stalls in ((cases, STALLS), (second, MOST_STALLS), (second, 0)):
            sizes = self.write_frames(folder, frames)
            lines, cycles = run_built(folder, command, packets=len(frames), stalls=stalls, **sizes)
            more_faults, difference = self._joined(frames, lines)
            _, flows = self.expected(frames)
            miscounts, count_message = miscounted(flows, self._counted(folder) if self.counting else None)
            faults, message = faults + more_faults + miscounts, message or difference or count_message
            if faults and brief:
                break
        return Found(len(cases) + len(second), faults, message, 0, cycles / len(second))

    def write_frames(self, folder: Path, cases: Sequence[Case]) -> dict[str, int]:
        """Write the words that the bench reads, a file per lane; return the number of words by lane."""
        sizes, lanes = dict[str, int](), len(self._top()[1])
        width = -(-self.framing.into // 4)
        for k in range(lanes):
            words = [word for port, frame in cases[k::lanes] for word in words_of(port, frame)]
            if len(words) > MOST_WORDS:
                raise InputError(f"frames of a lane may have {MOST_WORDS} words in the bench, got {len(words)}")
            (folder / f"words{k}.hex").write_text(
                "".join(f"{word:0{width}x}\n" for word in words) or "0\n", encoding="utf-8"
            )
            sizes[f"words{k}"] = len(words)
        return sizes

    def _joined(self, cases: Sequence[Case], left: Sequence[str]) -> tuple[int, str]:
        """Return how many frames differ, are lost or are surplus, and a text on the first one."""
        lanes, verdicts_expected = len(self._top()[1]), self.expected(cases)[0]
        verdicts: list[list[str]] = [[] for _ in range(lanes)]
        words: list[list[str]] = [[] for _ in range(lanes)]
        for line in left:
            letter, lane, text = line.split()
            (verdicts if letter == "t" else words)[int(lane)].append(text)
        faults, message = 0, ""
        for k in range(lanes):
            frames = frames_of(words[k], self.framing.port)
            outcomes = [self._read_verdict(text, number, frames) for number, text in enumerate(verdicts[k])]
            expected = [
                (sent or (frame if control else None), reason, bool(control))
                for (_, frame), (sent, reason, control) in zip(
                    cases[k::lanes], verdicts_expected[k::lanes], strict=True
                )
            ]
            for n, wanted in enumerate(expected):
                outcome = outcomes[n] if n < len(outcomes) else "nothing: it was lost"
                if outcome != wanted:
                    faults, message = (
                        faults + 1,
                        message or f"frame {n * lanes + k}: hardware says {outcome}, expected {wanted}",
                    )
            surplus = max(0, len(outcomes) - len(expected)) + sum(1 for _ in frames)
            faults, message = (
                faults + surplus,
                message or (f"{surplus} frames too many left lane {k}" if surplus else ""),
            )
        return faults, message

    def _read_verdict(self, text: str, number: int, frames: Frames) -> object:
        """Return the outcome that a verdict and its frame report; frames: the lane's remaining frames."""
        if set(text.lower()) & set("xz"):
            return "something undefined"
        number_left, registers = int(text, 16), dict[str, int]()
        for name in self.fields:
            registers[name] = number_left & (1 << self.results.at[name][1]) - 1
            number_left >>= self.results.at[name][1]
        if number_left != number % (1 << TAG):
            return f"the verdict of packet {number_left}"
        reason, control = (taken(self.program.shapes[name], registers, name) for name in ("reason", "left_to_control"))
        outcome: object = None
        if registers.get("sent.kind", 0) or control:
            port, frame, to_control = next(frames, (0, b"", False))
            if to_control != bool(control):
                return "a frame to the other side"
            outcome = frame if control else (port, frame)
        return outcome, by_code(reason), bool(control)
