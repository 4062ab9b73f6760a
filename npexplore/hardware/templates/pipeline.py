"""A step program as a pipeline, as Verilog 2005: a stage for each step, with forward jumps only (Gorilla, Sec. 4.1).

    registers -> calls go out -> queue of waiting packets -> answers join, context edit and jump -> next stage

A packet passes all stages in order; a stage whose step the packet does not execute leaves it unchanged. A stage takes a
packet per cycle as long as its queue has room, which hides accelerator delays of up to as many cycles as the queue has
places. A port must answer in the order of its calls. A pipeline has the ports of an engine, so that it can replace one.
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
    """Return the pipeline and its steps. context: the places of registers; begins, results: registers in and out.

    places: packets that may wait in a stage. The text uses the queue of `streams_text`. Raises ModelError for a step
    that jumps back, and for a port that two steps use.
    """
    names = list(program.steps)
    for name, step in program.steps.items():
        for target in step.goes:
            if target != ENDS and names.index(target) <= names.index(name):
                raise ModelError(f"program {program.name!r} is not a pipeline: step {name!r} jumps back to {target!r}")
    shared = [port for port in ports.asks if sum(port in of for of in ports.of.values()) > 1]
    if shared:
        raise ModelError(f"program {program.name!r} is not a pipeline: several steps call by port {shared[0]!r}")
    step_bits, context_bits = len(names).bit_length(), context.bits
    word_bits = step_bits + face.tag + context_bits
    lines = [
        face.head(), f"  wire [{context_bits - 1}:0] entered;", *entered(context, begins),
        f"  wire [{len(names)}:0] valid, ready;", f"  wire [{word_bits - 1}:0] word0 = "
        f"{{{step_bits}'d{names.index(program.start)}, in_tag, entered}};", "  assign valid[0] = in_valid;",
        "  assign in_ready = ready[0];",
        *(line for k in range(len(names)) for line in _stage(program, names, k, ports, face, context_bits, places)),
        f"  assign out_valid = valid[{len(names)}];", f"  assign ready[{len(names)}] = out_ready;",
        f"  assign out_tag = word{len(names)}[{context_bits + face.tag - 1}:{context_bits}];",
        *(
            f"  assign out_packet{results.slice(name)} = {context.read(name, f'word{len(names)}')};"
            for name in results.at
        ),
        "endmodule", "",
    ]  # fmt: skip
    return "\n".join([*(step_module(program, step, context, ports) for step in program.steps.values()), *lines])


def _stage(
    program: LoweredProgram, names: list[str], k: int, ports: Ports, face: Face, wide: int, places: int
) -> list[str]:
    """Return the lines of stage k, from word{k} to word{k + 1}."""
    name, step_bits = names[k], len(names).bit_length()
    word_bits, calls = step_bits + face.tag + wide, ports.of[name]
    lines = [f"  // {name}", f"  reg full{k};", f"  reg [{word_bits - 1}:0] out{k};"]
    source = f"valid[{k}]", f"word{k}"
    if calls:
        lines += _asking(name, k, ports, face, wide, step_bits, places)
        source = f"join{k}", f"head{k}[{word_bits - 1}:0]"
    connections = [f".held(now{k}[{wide - 1}:0])", f".after(after{k})", f".following(following{k})"]
    for port in calls:
        connections += [f".reply_{port}(got_{port})", f".when_{port}()", f".ask_{port}()"]
    lines += [
        f"  wire [{word_bits - 1}:0] now{k} = {source[1]};", f"  wire [{wide - 1}:0] after{k};",
        f"  wire [{step_bits - 1}:0] following{k};", f"  step_{name} edit{k} ({', '.join(connections)});",
        f"  wire mine{k} = now{k}[{word_bits - 1}:{word_bits - step_bits}] == {step_bits}'d{k};",
        f"  wire room{k} = ~full{k} | ready[{k + 1}];", f"  assign valid[{k + 1}] = full{k};",
        f"  wire [{word_bits - 1}:0] word{k + 1} = out{k};",
    ]  # fmt: skip
    lines.append(f"  assign go{k} = join{k} & room{k};" if calls else f"  assign ready[{k}] = room{k};")
    lines += [
        "  always @(posedge clk)", f"    if (rst) full{k} <= 1'b0;", f"    else if (room{k}) begin",
        f"      full{k} <= {source[0]};",
        f"      if ({source[0]}) out{k} <= mine{k} ? {{following{k}, now{k}[{word_bits - step_bits - 1}:{wide}], "
        f"after{k}}} : now{k};",
        "    end",
    ]  # fmt: skip
    return lines


def _asking(name: str, k: int, ports: Ports, face: Face, wide: int, width: int, places: int) -> list[str]:
    """Return the first half of a stage with calls: calls go out, the packet waits, answers are collected."""
    calls, word_bits = ports.of[name], width + face.tag + wide
    entry_bits = len(calls) + word_bits
    connections = [f".held(word{k}[{wide - 1}:0])", ".after()", ".following()"]
    lines = [
        f"  wire enter{k}, join{k}, go{k};",
        f"  wire here{k} = word{k}[{word_bits - 1}:{word_bits - width}] == {width}'d{k};",
        f"  wire space{k}, there{k};",
    ]
    lines += [f"  wire [{entry_bits - 1}:0] head{k};", f"  wire [{len(calls) - 1}:0] want{k}, idle{k}, has{k};"]
    for j, port in enumerate(calls):
        ask, reply = ports.asks[port], ports.replies[port].bits
        connections += [f".reply_{port}({reply}'d0)", f".when_{port}(when_{port})", f".ask_{port}(ask_{port})"]
        lines += [
            f"  wire when_{port};", f"  wire [{ask - 1}:0] ask_{port};", f"  wire [{reply - 1}:0] got_{port};",
            f"  reg busy_{port};", f"  reg [{ask - 1}:0] held_{port};", f"  assign {port}_valid = busy_{port};",
            f"  assign {port}_ask = held_{port};", f"  assign {port}_who = {face.who}'d0;",
            f"  assign want{k}[{j}] = here{k} & when_{port};", f"  assign idle{k}[{j}] = ~busy_{port} | {port}_ready;",
            f"  queue #(.PLACES({places}), .AT({at(places)}), .WIDTH({reply})) back_{port} (.clk(clk), .rst(rst), "
            f".in_valid({port}_done), .in_ready({port}_take), .in_data({port}_reply), .out_valid(has{k}[{j}]), "
            f".out_ready(go{k} & head{k}[{word_bits + j}]), .out_data(got_{port}));",
            "  always @(posedge clk)", f"    if (rst) busy_{port} <= 1'b0;",
            f"    else if (idle{k}[{j}]) begin",
            f"      busy_{port} <= enter{k} & want{k}[{j}];", f"      held_{port} <= ask_{port};", "    end",
        ]  # fmt: skip
    lines += [
        f"  step_{name} asks{k} ({', '.join(connections)});",
        f"  assign ready[{k}] = space{k} & (&(idle{k} | ~want{k}));", f"  assign enter{k} = valid[{k}] & ready[{k}];",
        f"  queue #(.PLACES({places}), .AT({at(places)}), .WIDTH({entry_bits})) wait{k} (.clk(clk), .rst(rst), "
        f".in_valid(valid[{k}] & (&(idle{k} | ~want{k}))), .in_ready(space{k}), .in_data({{want{k}, word{k}}}), "
        f".out_valid(there{k}), .out_ready(go{k}), .out_data(head{k}));",
        f"  assign join{k} = there{k} & (&(has{k} | ~head{k}[{entry_bits - 1}:{word_bits}]));",
    ]  # fmt: skip
    return lines
