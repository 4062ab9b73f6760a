"""`Design`, the class that users work with: parameters, a function that builds the machine, and methods that solve it.

d = npexplore.design("ixp2400").with_(scheme="fcb_tb")
d.bounds(w); d.queueing(w); d.simulate(w, seed=1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from npexplore.designs.description import MachineDescription
from npexplore.designs.prepared import names_read, prepared
from npexplore.display import html_table
from npexplore.errors import InputError, RefusedError
from npexplore.machine.machine import Machine
from npexplore.machine.machine_files import load_machine
from npexplore.machine.parameters import TABLE_HEAD, Parameters, parameter_rows
from npexplore.machine.under_load import UnderLoad, under_load
from npexplore.machine.workload import Workload
from npexplore.machine.workload_sources import WorkloadLike
from npexplore.names import registered_function
from npexplore.solve.bounds import bounds
from npexplore.solve.prediction import Prediction

if TYPE_CHECKING:
    from npexplore.golden.router.configuration import Router
    from npexplore.packets import Capture
    from npexplore.programs import CostTable, Program, ProgramRun
    from npexplore.solve.formulas import Formulas
    from npexplore.solve.packet_run import PacketRun
    from npexplore.solve.solver_answers import SolverAnswers


RTL_PACKETS = 20_000  # packets sent through the generated hardware by default


@dataclass(frozen=True)
class Design(MachineDescription):
    """A machine with values for its parameters. Users get one from `npexplore.design` and seldom construct one.

    Args, in addition to those of `MachineDescription`:
        hardware: (parameters, packets) -> a cycle-by-cycle simulation of its generated Verilog (None: it has none).
        runs: (design, run of a packet program, its packets, costs) -> the design that executes it (None: it cannot).
        program: the packet program that the design executes: packets, costs, cycles by path (None: no program).
        costs: the name of the default cost table for packet programs.

    Example:
        >>> import npexplore as npx
        >>> machine = npx.design("ixp2400").with_(banks=2)
        >>> machine
        Design(ixp2400: banks=2)
        >>> machine.parameters["banks"]
        2
    """

    hardware: Callable[[Parameters, int], Prediction] | None = None
    runs: Callable[[Design, ProgramRun, Capture, CostTable], Design] | None = None
    program: Any = None
    costs: str = "x86_server"
    by_engine: ClassVar[bool] = True  # whether the event engine simulates it

    @staticmethod
    def of(
        name: str | Path, build: Callable[[Parameters], Machine], own: Callable[[Parameters], Workload] | None = None,
        dress: Callable[[Parameters, Workload], Workload] | None = None,
        memory: Callable[[Parameters], Mapping[str, float]] | None = None,
        reader: Callable[[Parameters, Path], Workload] | None = None,
        hardware: Callable[[Parameters, int], Prediction] | None = None,
    ) -> Design:  # fmt: skip
        """Return the design of a machine file, with the file's values; `name` is in models/machines, or a path."""
        file = load_machine(name)
        return Design(file.name, Parameters(file), build, own, dress, memory, reader, hardware)

    def with_program(
        self, program: str | Path | Program, packets: str | Path | Capture, *, section: str | None = None,
        maps: Mapping[str, Mapping[bytes, bytes]] | None = None, costs: str | Path | CostTable | None = None,
        seed: int = 1, router: str | Path | Router | None = None,
    ) -> Design:  # fmt: skip
        """Return the design whose cores run an eBPF program on the packets of a capture (docs/program_rate.md).

        Args:
            program: what `npexplore.program` returns, or its file.
            packets: a capture of Ethernet frames, or its path.
            section: which program of the file to run, if the file holds several.
            maps: initial contents of the program's maps, as for `Program.run`.
            costs: costs of instructions and helpers: a table in models/processors, a file, or a `CostTable` (None: the
                design's default).
            seed: seed of the program's random numbers.
            router: the router whose tables `fib_lookup` reads: a configuration, its file, or an example's name.

        Raises:
            RefusedError: the design runs no packet programs, or the program faults.
            InputError: the cost table lacks an event's cost, or a map or program cannot be read.
        """
        from npexplore.packets import read_capture
        from npexplore.programs import CostTable, Program, read_costs
        from npexplore.programs.loading import program as loaded

        if self.runs is None:
            raise RefusedError(f"design {self.name} runs no packet programs; server and nfp4000 do")
        packet_program = program if isinstance(program, Program) else loaded(program, section)
        table = costs if isinstance(costs, CostTable) else read_costs(costs or self.costs)
        capture = read_capture(packets) if isinstance(packets, str | Path) else packets
        fib = None
        if router is not None:
            from npexplore.testing.fib import forwarding_tables

            fib = forwarding_tables(router)
        run = packet_program.run(capture, maps=maps, seed=seed, keep=False, fib=fib)
        return self.runs(self, run, capture, table)

    def depends_on(self, workload: WorkloadLike | None = None) -> set[str]:
        """Return the names of the parameters that the machine and its program read."""
        packets = self.packets(workload)

        def names() -> set[str]:
            fresh = replace(self, parameters=self.fitted(packets).parameters.with_())
            with suppress(RefusedError):  # a refusal comes after all parameters were read
                under_load(fresh.machine(), fresh.workload(packets))
            return set(fresh.parameters.read)

        return names_read(self, packets, names)

    def demands(self, workload: WorkloadLike | None = None) -> UnderLoad:
        """Return the demands: seconds and visits of every server per packet, without contention."""
        return prepared(self, self.packets(workload)).under_load()

    def bounds(self, workload: WorkloadLike | None = None) -> Prediction:
        """Return the roofline, an upper bound of throughput, and the bottleneck (workload None: the design's own)."""
        ready = prepared(self, self.packets(workload))
        return bounds(ready.machine, ready.workload, ready.under_load())

    def queueing(self, workload: WorkloadLike | None = None) -> Prediction:
        """Return the queueing model's prediction; raises RefusedError, with the reason, if no model applies."""
        from npexplore.solve.queueing_model import queueing
        from npexplore.solve.validity import check_arrivals

        ready = prepared(self, self.packets(workload))
        check_arrivals(ready.machine, ready.workload)
        return queueing(ready.machine, ready.workload, ready.under_load())

    def chain(
        self, workload: WorkloadLike | None = None, phases: int | None = None, most_states: int | None = None
    ) -> Prediction:
        """Return the exact prediction of a small machine by its Markov chain, with a certified error.

        Args:
            workload: the packets (None: the design's own).
            phases: replace constant times by Erlang times of this many phases; 1: exponential (None: refuse them).
            most_states: the largest number of states (None: 100,000).

        Raises:
            RefusedError: the machine has no Markov chain, or the chain has too many states.
        """
        from npexplore.solve.machine_chain import MOST_STATES, ctmc

        ready = prepared(self, self.packets(workload))
        return ctmc(ready.machine, ready.workload, phases, most_states or MOST_STATES)

    def simulate(
        self, workload: WorkloadLike | None = None, seed: int = 1, *, seeds: int | Sequence[int] = 1,
        packets: int | None = None, warm_up: int | None = None, window_s: float | None = None,
        boot_s: float | None = None, breakdown: bool = True, progress: Callable[[int], None] | None = None,
    ) -> Prediction:  # fmt: skip
        """Return the prediction by discrete-event simulation, with 95 % intervals.

        Args:
            workload: the packets (None: the design's own).
            seed: seed of the first replication.
            seeds: the number of replications, with seeds counted from `seed`, or the seeds themselves.
            packets: packets measured per replication (None: enough for a mix; of a timed capture, all after warm-up).
            warm_up: packets before the measured ones (None: an eighth of `packets`; of a timed capture, none).
            window_s: measure this many seconds instead of a number of packets (None: the machine's own window, if any).
            boot_s: seconds before the window begins.
            breakdown: also record each resource's part of the latency; takes up to a tenth more run time.
            progress: called after every batch of packets.

        Raises:
            SimulationError: the simulation makes no progress, for example because of a deadlock.
        """
        from npexplore.solve.seeds import replicate, seeds_from

        chosen = seeds_from(seed, seeds)
        ready = prepared(self, self.packets(workload))
        return replicate(
            ready.machine, ready.workload, chosen, packets=packets, warm_up=warm_up, window_s=window_s, boot_s=boot_s,
            breakdown=breakdown, progress=progress, model=ready.model() if chosen else None,
        )  # fmt: skip

    def run(
        self, capture: str | Path | Capture | Mapping[str, str | Path], seed: int = 1, *, speed: float | None = None,
        rate: str | float | None = None, loops: int = 1, by_resource: bool = False,
        memory_bytes: float | None = None, folder: str | Path | None = None, router: Router | None = None,
        port: str | None = None, any_station: bool = False, resume: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> PacketRun:  # fmt: skip
        """Return the outcome of each packet of a capture that arrives at its recorded times (docs/packet_run.md).

        Args:
            capture: a capture whose packets have time stamps, or its path; or a mapping from the names of input ports
                to paths, whose packets are merged by their time stamps. Packets that are not IP are left out.
            seed: seed of the random numbers; the totals equal those of `simulate` with this seed.
            speed: factor by which arrivals are sped up (None: the recorded times).
            rate: scale all times to this mean rate: packets a second, or text such as "4 Gb/s".
            loops: the number of passes over the capture, one after another.
            by_resource: also record each packet's service, waiting and held-up time at each resource.
            memory_bytes: refuse a run that needs more memory (None: more than the computer has).
            folder: store arrays whose size grows with the packets in unnamed files in this folder, which is created if
                missing (None: in memory). The run also writes `packets.parquet` there, one row per packet. Addresses of
                a capture that is read here are not stored; `flows()` reads the capture's files again.
            router: a golden router, whose decision for each packet a program gets if it reads `packet.drop_reason` or
                `packet.sent_bytes`. `npexplore.solvers.route_run` forwards the frames afterwards.
            port: the router's port by which all packets arrive, unless each port has a capture (None: its first port).
            any_station: the router forwards frames whatever their destination MAC address.
            resume: store checkpoints in the folder, and continue from the last one of the same run. They stay until
                `npexplore.engine.checkpoint.forget`.
            progress: called during the run with the number of packets that have arrived and the total number.

        Raises:
            RefusedError: the design cannot take these packets, or cannot identify single packets.
            InputError: a capture without IP packets or time stamps, both a speed and a rate, or too little memory.
        """
        from npexplore.machine.workload_sources import first_packet, looped, speed_ratio, timed
        from npexplore.mapped_arrays import arrays_in_files
        from npexplore.packets import read_capture
        from npexplore.packets.columns import STORED
        from npexplore.progress import Task
        from npexplore.solve.input_ports import InputPorts
        from npexplore.solve.packet_memory import ARRIVAL_COLUMNS, check_memory
        from npexplore.solve.packet_run import run_packets
        from npexplore.solve.packet_verdicts import verdicts_read, with_verdicts

        if not self.by_engine:
            raise RefusedError(f"run: {self.name} is no machine of threads and resources")
        if speed is not None and rate is not None:
            raise InputError("packets come at a speed or at a rate, got both")
        ports: InputPorts | None = None
        columns, place = (tuple(STORED), None) if folder is None else (ARRIVAL_COLUMNS, Path(folder))
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
        with arrays_in_files(place):
            if isinstance(capture, Mapping):
                ports = InputPorts(capture)
                read = ports.read(columns)
            else:
                read = read_capture(capture, columns=columns) if isinstance(capture, str | Path) else capture
            with Task("laying out the capture: 1 of 3, times") as task:
                packets, rows = timed(read)
                has_dress = self.dress is not None
                check_memory(self.name, len(rows) * loops, limit_bytes=memory_bytes, dressed=has_dress)
                packets, rows = looped(packets, rows, loops)
                captured = packets
                if speed is not None:
                    packets = packets.at_speed(speed)
                if rate is not None:
                    packets = packets.with_arrivals("timestamps", rate)
                task.describe("laying out the capture: 2 of 3, the router's verdicts")
                if router is not None and (
                    verdict_columns := verdicts_read(self.machine(packets), self.workload(first_packet(packets)))
                ):
                    names = (port or router.ports[0].name,) if ports is None else ports.names
                    speed_factor = speed_ratio(captured, packets)
                    packets = with_verdicts(
                        packets,
                        rows,
                        read,
                        router,
                        names,
                        speed_factor,
                        any_station=any_station,
                        columns=verdict_columns,
                    )
                task.describe("laying out the capture: 3 of 3, kinds of packets")
                ready = prepared(self.by_packets(), packets)
                model = ready.model()
            return run_packets(
                self.name, ready.machine, ready.workload, model, rows, seed=seed, by_resource=by_resource,
                capture=read, ports=ports, loops=loops, memory_bytes=memory_bytes,
                folder=place, resume=resume, progress=progress,
            )  # fmt: skip

    def estimate(
        self, workload: WorkloadLike | None = None, *, precision: float = 0.02, budget: str | float = "5 s",
        seed: int = 1, runs: int | None = None,
    ) -> Prediction:  # fmt: skip
        """Return throughput, latency and loss with 95 % intervals, simulated until they are narrow enough.

        Args:
            workload: the packets (None: the design's own).
            precision: target for the relative half width: of the throughput (saturated) or of the mean latency.
            budget: limit on all runs together: text such as "5 s", or seconds; each second means 10 million events.
            seed: seed of the random numbers; seed, precision and budget give the same answer on any computer.
            runs: make exactly this many runs (None: as many as precision and budget need; `about` has the number).

        Raises:
            RefusedError: no valid interval exists: the load is too near the saturated rate, or between modes.
            SimulationError: the simulation makes no progress, for example because of a deadlock.
        """
        from npexplore.solve.estimate.estimate import estimate
        from npexplore.solve.estimate.replications import Subject
        from npexplore.units import parse_time

        if not self.by_engine:
            raise RefusedError(
                f"estimate: {self.name} is no machine of threads and resources; `simulate` has intervals"
            )
        budget_s = parse_time("budget", budget) if isinstance(budget, str) else float(budget)
        packets = self.packets(workload)
        ready = prepared(self, packets)
        subject = Subject(self.machine(packets), ready.workload, ready.model)
        return estimate(subject, seed=seed, precision=precision, budget_s=budget_s, runs=runs)

    def rtl(self, workload: WorkloadLike | None = None, packets: int | None = None) -> Prediction:
        """Return rate and latency of the design's Verilog, simulated cycle by cycle (docs/hardware_rates.md).

        Args:
            workload: must be None; the hardware receives the design's own packets.
            packets: packets sent through it (None: 20,000).

        Raises:
            RefusedError: the design has no Verilog, no template has a knob's value, or Verilator is not on the path.
        """
        if self.hardware is None:
            raise RefusedError(f"rtl: design {self.name} has no hardware")
        if workload is not None:
            raise RefusedError(f"rtl: the hardware of {self.name} takes the design's own packets only")
        return self.hardware(self.parameters, packets or RTL_PACKETS)

    def explain(self, workload: WorkloadLike | None = None, **options: Any) -> SolverAnswers:
        """Return three predictions, the bottleneck, the headroom and the most effective changes (npexplore.explain)."""
        explanation: SolverAnswers = registered_function("Design.explain")(self, self.packets(workload), **options)
        return explanation

    def formula(self, workload: WorkloadLike | None = None) -> Formulas:
        """Return throughput ceilings and light-load latency as formulas of knobs and packet (SymPy, LaTeX, text)."""
        formulas: Formulas = registered_function("Design.formula")(self, self.packets(workload))
        return formulas

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.parameters.changed().items())
        return f"Design({self.name}{': ' + changed if changed else ''})"

    def _repr_html_(self) -> str:
        known = self.parameters.file.parameter
        rows = [(*row, known[str(row[0])].source) for row in parameter_rows(self.parameters)]
        return html_table((*TABLE_HEAD, "source"), rows, self.parameters.file.title or self.name)
