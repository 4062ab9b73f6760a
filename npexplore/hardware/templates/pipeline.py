"""A step program as a pipeline, as Verilog 2005: a stage for each step, jumps only forward (Gorilla, Sec. 4.1).

    registers -> ask (calls go out) -> queue of those that wait -> answers join, context edit and jump -> next stage

A packet passes all stages; those of steps that it does not come to leave it as it is, so that packets stay in order.
A stage takes a packet per cycle as long as its queue has room: that hides a delay of the accelerators of up to as many
cycles as there are places. Answers of a port must come in the order of its calls. The ports are those of an engine, so
that a pipeline stands wherever an engine does.
"""

from __future__ import annotations

from npexplore.errors import ModelError
from npexplore.hardware.engine import entered
from npexplore.hardware.lowering import ENDS, LoweredProgram
from npexplore.hardware.places import Places
from npexplore.hardware.templates.group import Face, at
from npexplore.hardware.verilog import Packed, Ports, step_module


def pipeline_text(
    program: LoweredProgram, context: Places, ports: Ports, begins: Packed, results: Packed, face: Face, places: int
) -> str:
    """Return the pipeline and its steps. context: where registers stand; begins, results: registers in and out.

    places: packets that wait in a stage.
    Needs the queue of `streams_text`. Raises ModelError for a step that jumps back, or for a port of two steps.
    """
    names = list(program.steps)
    for name, step in program.steps.items():
        for to in step.goes:
            if to != ENDS and names.index(to) <= names.index(name):
                raise ModelError(f"program {program.name!r} is not a pipeline: step {name!r} jumps back to {to!r}")
    shared = [port for port in ports.asks if sum(port in of for of in ports.of.values()) > 1]
    if shared:
        raise ModelError(f"program {program.name!r} is not a pipeline: several steps call by port {shared[0]!r}")
    width, wide = len(names).bit_length(), context.bits
    whole = width + face.tag + wide
    lines = [
        face.head(), f"  wire [{wide - 1}:0] entered;", *entered(context, begins),
        f"  wire [{len(names)}:0] valid, ready;", f"  wire [{whole - 1}:0] word0 = "
        f"{{{width}'d{names.index(program.start)}, in_tag, entered}};", "  assign valid[0] = in_valid;",
        "  assign in_ready = ready[0];",
        *(line for k in range(len(names)) for line in _stage(program, names, k, ports, face, wide, places)),
        f"  assign out_valid = valid[{len(names)}];", f"  assign ready[{len(names)}] = out_ready;",
        f"  assign out_tag = word{len(names)}[{wide + face.tag - 1}:{wide}];",
        *(f"  assign out_packet{results.slice(one)} = {context.read(one, f'word{len(names)}')};" for one in results.at),
        "endmodule", "",
    ]  # fmt: skip
    return "\n".join([*(step_module(program, step, context, ports) for step in program.steps.values()), *lines])


def _stage(
    program: LoweredProgram, names: list[str], k: int, ports: Ports, face: Face, wide: int, places: int
) -> list[str]:
    """Return stage k: from word{k} to word{k + 1}."""
    name, width = names[k], len(names).bit_length()
    whole, calls = width + face.tag + wide, ports.of[name]
    lines = [f"  // {name}", f"  reg full{k};", f"  reg [{whole - 1}:0] out{k};"]
    source = f"valid[{k}]", f"word{k}"
    if calls:
        lines += _asking(name, k, ports, face, wide, width, places)
        source = f"join{k}", f"head{k}[{whole - 1}:0]"
    links = [f".held(now{k}[{wide - 1}:0])", f".after(after{k})", f".following(following{k})"]
    for port in calls:
        links += [f".reply_{port}(got_{port})", f".when_{port}()", f".ask_{port}()"]
    lines += [
        f"  wire [{whole - 1}:0] now{k} = {source[1]};", f"  wire [{wide - 1}:0] after{k};",
        f"  wire [{width - 1}:0] following{k};", f"  step_{name} edit{k} ({', '.join(links)});",
        f"  wire mine{k} = now{k}[{whole - 1}:{whole - width}] == {width}'d{k};",
        f"  wire room{k} = ~full{k} | ready[{k + 1}];", f"  assign valid[{k + 1}] = full{k};",
        f"  wire [{whole - 1}:0] word{k + 1} = out{k};",
    ]  # fmt: skip
    lines.append(f"  assign go{k} = join{k} & room{k};" if calls else f"  assign ready[{k}] = room{k};")
    lines += [
        "  always @(posedge clk)", f"    if (rst) full{k} <= 1'b0;", f"    else if (room{k}) begin",
        f"      full{k} <= {source[0]};",
        f"      if ({source[0]}) out{k} <= mine{k} ? {{following{k}, now{k}[{whole - width - 1}:{wide}], after{k}}} "
        f": now{k};",
        "    end",
    ]  # fmt: skip
    return lines


def _asking(name: str, k: int, ports: Ports, face: Face, wide: int, width: int, places: int) -> list[str]:
    """Return the first half of a stage with calls: they go out, the packet waits, the answers are gathered."""
    calls, whole = ports.of[name], width + face.tag + wide
    registers = len(calls) + whole
    links = [f".held(word{k}[{wide - 1}:0])", ".after()", ".following()"]
    lines = [
        f"  wire enter{k}, join{k}, go{k};",
        f"  wire here{k} = word{k}[{whole - 1}:{whole - width}] == {width}'d{k};",
        f"  wire space{k}, there{k};",
    ]
    lines += [f"  wire [{registers - 1}:0] head{k};", f"  wire [{len(calls) - 1}:0] want{k}, idle{k}, has{k};"]
    for j, port in enumerate(calls):
        ask, reply = ports.asks[port], ports.replies[port].bits
        links += [f".reply_{port}({reply}'d0)", f".when_{port}(when_{port})", f".ask_{port}(ask_{port})"]
        lines += [
            f"  wire when_{port};", f"  wire [{ask - 1}:0] ask_{port};", f"  wire [{reply - 1}:0] got_{port};",
            f"  reg busy_{port};", f"  reg [{ask - 1}:0] held_{port};", f"  assign {port}_valid = busy_{port};",
            f"  assign {port}_ask = held_{port};", f"  assign {port}_who = {face.who}'d0;",
            f"  assign want{k}[{j}] = here{k} & when_{port};", f"  assign idle{k}[{j}] = ~busy_{port} | {port}_ready;",
            f"  queue #(.PLACES({places}), .AT({at(places)}), .WIDTH({reply})) back_{port} (.clk(clk), .rst(rst), "
            f".in_valid({port}_done), .in_ready({port}_take), .in_data({port}_reply), .out_valid(has{k}[{j}]), "
            f".out_ready(go{k} & head{k}[{whole + j}]), .out_data(got_{port}));",
            "  always @(posedge clk)", f"    if (rst) busy_{port} <= 1'b0;",
            f"    else if (idle{k}[{j}]) begin",
            f"      busy_{port} <= enter{k} & want{k}[{j}];", f"      held_{port} <= ask_{port};", "    end",
        ]  # fmt: skip
    lines += [
        f"  step_{name} asks{k} ({', '.join(links)});",
        f"  assign ready[{k}] = space{k} & (&(idle{k} | ~want{k}));", f"  assign enter{k} = valid[{k}] & ready[{k}];",
        f"  queue #(.PLACES({places}), .AT({at(places)}), .WIDTH({registers})) wait{k} (.clk(clk), .rst(rst), "
        f".in_valid(valid[{k}] & (&(idle{k} | ~want{k}))), .in_ready(space{k}), .in_data({{want{k}, word{k}}}), "
        f".out_valid(there{k}), .out_ready(go{k}), .out_data(head{k}));",
        f"  assign join{k} = there{k} & (&(has{k} | ~head{k}[{registers - 1}:{whole}]));",
    ]  # fmt: skip
    return lines
