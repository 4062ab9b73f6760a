"""Design: what users hold. Parameters from a machine file, a function that builds the machine, and the solvers.

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


RTL_PACKETS = 20_000  # through generated hardware


@dataclass(frozen=True)
class Design(MachineDescription):
    """A machine with values for its parameters; `npexplore.design` returns one, users seldom make one themselves.

    Args, beside those of `MachineDescription`:
        hardware: (parameters, packets) -> what its generated Verilog does, cycle by cycle (None: it has none).
        runs: (design, run of a packet program, its packets, costs) -> the design that runs it (None: it runs none).
        program: what it runs: packets, costs, cycles by path (None: none).
        costs: the usual cost table of programs on it.

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
        """Return the design of a machine file (name in models/machines, or path) with that file's values."""
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
            section: the program of the file, where it has several.
            maps: first contents of its maps, as for `Program.run`.
            costs: what instructions and helpers cost: a table of models/processors, a file, or a `CostTable` (None: the
                design's usual one).
            seed: of the program's random numbers.
            router: whose tables `fib_lookup` asks: a configuration, its file, or an example's name.

        Raises:
            RefusedError: a design that runs no programs, or a program that faults.
            InputError: an event without a price; a map or program that cannot be read.
        """
        from npexplore.packets import read_capture
        from npexplore.programs import CostTable, Program, read_costs
        from npexplore.programs.loading import program as loaded

        if self.runs is None:
            raise RefusedError(f"design {self.name} runs no packet programs; server and nfp4000 do")
        one = program if isinstance(program, Program) else loaded(program, section)
        table = costs if isinstance(costs, CostTable) else read_costs(costs or self.costs)
        capture = read_capture(packets) if isinstance(packets, str | Path) else packets
        fib = None
        if router is not None:
            from npexplore.testing.fib import forwarding_tables

            fib = forwarding_tables(router)
        run = one.run(capture, maps=maps, seed=seed, keep=False, fib=fib)
        return self.runs(self, run, capture, table)

    def depends_on(self, workload: WorkloadLike | None = None) -> set[str]:
        """Return the names of the parameters that the machine and its program read."""
        packets = self.packets(workload)

        def names() -> set[str]:
            fresh = replace(self, parameters=self.fitted(packets).parameters.with_())
            with suppress(RefusedError):  # what cannot be told is refused after all was read
                under_load(fresh.machine(), fresh.workload(packets))
            return set(fresh.parameters.read)

        return names_read(self, packets, names)

    def demands(self, workload: WorkloadLike | None = None) -> UnderLoad:
        """Return the demands: seconds and visits of every server per packet, without contention."""
        return prepared(self, self.packets(workload)).under_load()

    def bounds(self, workload: WorkloadLike | None = None) -> Prediction:
        """Return the roofline: the upper bound of throughput and the resource that sets it (workload None: its own)."""
        ready = prepared(self, self.packets(workload))
        return bounds(ready.machine, ready.workload, ready.under_load())

    def queueing(self, workload: WorkloadLike | None = None) -> Prediction:
        """Return the queueing model's prediction; raises RefusedError if no model applies (the message says why)."""
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
            phases: replace constant times by Erlang times of so many phases, 1 for exponential ones (None: refuse
                constant times).
            most_states: the largest number of states (None: 100,000).

        Raises:
            RefusedError: a machine without a Markov chain, or with too many states.
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
            packets: packets measured in each replication (None: enough to represent a mix; of a capture with its own
                times all that are left).
            warm_up: packets before those, not measured (None: an eighth of `packets`; of a capture with its own times
                none).
            window_s: measure this many seconds instead of a number of packets (None: the machine's own window, if any).
            boot_s: seconds before the window begins.
            breakdown: also record where the time of packets went; costs up to a tenth more.
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
        """Return what becomes of each packet of a capture, at its own times (docs/packet_run.md).

        Args:
            capture: a capture whose packets have time stamps, or its path; or a path for each input port's name, whose
                packets come in the order of their time stamps. Packets that are not IP are left out.
            seed: of the random numbers; the totals are those of `simulate` with this seed.
            speed: how many times as fast the packets come (None: as they came).
            rate: scale all times so that this is the mean rate: packets a second, or text such as "4 Gb/s".
            loops: how often the packets come, one loop after the other.
            by_resource: also say how long each packet was served, waited and was held up at each resource.
            memory_bytes: refuse a run that needs more (None: more than there is).
            folder: keep what grows with the packets in unnamed files there (None: in memory); it is made if it is not
                there. It gets `packets.parquet`, a row a packet, while the run goes on. Of a capture that is read here,
                addresses are not kept; `flows()` reads its files again.
            router: a golden router; a program that reads `packet.drop_reason` or `packet.sent_bytes` works by what it
                decides of each packet. `npexplore.solvers.route_run` forwards the frames afterwards.
            port: the router's port by which all packets come, unless each port has a capture (None: its first).
            any_station: the router forwards frames whatever their destination MAC address.
            resume: keep checkpoints in the folder, and go on from the last one there if it is of the same run; they
                stay until `npexplore.engine.checkpoint.forget`.
            progress: called during the run with the number of packets that have arrived, and of all.

        Raises:
            RefusedError: a design that cannot take these packets, or that cannot tell packets apart.
            InputError: a capture without an IP packet or without time stamps, both a speed and a rate, or too little
                memory.
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
                dressed = self.dress is not None
                check_memory(self.name, len(rows) * loops, limit_bytes=memory_bytes, dressed=dressed)
                packets, rows = looped(packets, rows, loops)
                captured = packets
                if speed is not None:
                    packets = packets.at_speed(speed)
                if rate is not None:
                    packets = packets.with_arrivals("timestamps", rate)
                task.describe("laying out the capture: 2 of 3, the router's verdicts")
                if router is not None and (
                    read_columns := verdicts_read(self.machine(packets), self.workload(first_packet(packets)))
                ):
                    names = (port or router.ports[0].name,) if ports is None else ports.names
                    faster = speed_ratio(captured, packets)
                    packets = with_verdicts(
                        packets, rows, read, router, names, faster, any_station=any_station, columns=read_columns
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
            precision: relative half width asked of the throughput (saturated) or of the mean latency.
            budget: what all runs together may take: text such as "5 s", or seconds, of 10 million events each.
            seed: of the random numbers; seed, precision and budget give the same answer on any computer.
            runs: make exactly so many runs (None: as many as precision and budget need; `about` has their number).

        Raises:
            RefusedError: no interval would be honest: a load too near the saturated rate, or between modes.
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
        """Return the rate and latency of the design's generated hardware, cycle by cycle (docs/hardware_rates.md).

        Args:
            workload: None; the hardware is fed the design's own packets.
            packets: packets sent through it (None: 20,000).

        Raises:
            RefusedError: a design without hardware, knobs that no template has, or no Verilator on the path.
        """
        if self.hardware is None:
            raise RefusedError(f"rtl: design {self.name} has no hardware")
        if workload is not None:
            raise RefusedError(f"rtl: the hardware of {self.name} takes the design's own packets only")
        return self.hardware(self.parameters, packets or RTL_PACKETS)

    def explain(self, workload: WorkloadLike | None = None, **options: Any) -> SolverAnswers:
        """Return the three predictions, the bottleneck, the headroom and what would help (see npexplore.explain)."""
        explanation: SolverAnswers = registered_function("Design.explain")(self, self.packets(workload), **options)
        return explanation

    def formula(self, workload: WorkloadLike | None = None) -> Formulas:
        """Return ceilings and light-load latency as formulas of the knobs and of the packet (SymPy, LaTeX, text)."""
        formulas: Formulas = registered_function("Design.formula")(self, self.packets(workload))
        return formulas

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value}" for name, value in self.parameters.changed().items())
        return f"Design({self.name}{': ' + changed if changed else ''})"

    def _repr_html_(self) -> str:
        known = self.parameters.file.parameter
        rows = [(*row, known[str(row[0])].source) for row in parameter_rows(self.parameters)]
        return html_table((*TABLE_HEAD, "source"), rows, self.parameters.file.title or self.name)
