"""Filters under test, judged by rules or a graph of Click: right ones are held, planted faults have their cluster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import npexplore as npx
from npexplore.cli import main
from npexplore.errors import InputError
from npexplore.golden import Graph, load_router
from npexplore.golden.classify.rules import Rule, Rules
from npexplore.testing import GraphJudge, RulesJudge, XdpRouter, examine_router

FILTERS = Path(__file__).parents[1] / "programs" / "filters.o"
# drops IPv4 from 10.0.0.0/8, whatever it is
TEXT = """
ldxw r2, [r1+0]
ldxw r3, [r1+4]
mov r0, 2
mov r4, r2
add r4, 34
jgt r4, r3, out
ldxb r5, [r2+12]
jne r5, 8, out
ldxb r5, [r2+26]
jne r5, {first}, out
mov r0, 1
out: exit
"""
RULES = Rules((Rule(source=(10 << 24, (11 << 24) - 1)), Rule(source=(0, 0xFFFFFFFF), dscp=46)), "fw")
BY_TYPE = """FromDevice(in) -> c :: Classifier(12/0800, 12/86dd, 12/8100 16/0800, -);
c[0] -> h :: ToHost; c[2] -> h; c[1] -> Queue -> t :: ToDevice(out); c[3] -> d :: Discard;"""


def filter_of(first):
    return XdpRouter(npx.program(TEXT.format(first=first)), "through", filters=True)


def test_a_filter_is_judged_by_rules():
    judge = RulesJudge(RULES, drop=["BE"])
    right = examine_router(filter_of(10).forward, "through", judge=judge, max_examples=200)
    assert right.clusters == ()
    assert {row.rule.clause: row.tried > 10 for row in right.rows} == {"fw rule 1": True, "fw rule 2": True}
    wrong = examine_router(filter_of(11).forward, "through", judge=judge, max_examples=400)
    assert {one.title for one in wrong.clusters} == {
        "its packets are dropped, one passes (fw rule 1)", "its packets pass, one is dropped (fw rule 2)",
    }  # fmt: skip
    assert len(wrong.clusters[0].smallest.frame) <= 34 + 4
    others = RulesJudge(RULES[:1], drop=["unmatched"])
    assert examine_router(filter_of(10).forward, "through", judge=others, max_examples=50).failures > 20
    with pytest.raises(InputError, match="packets to drop 'EFF' is unknown"):
        RulesJudge(RULES, drop=["EFF"])


def test_a_filter_is_judged_by_a_graph():
    graph, router = Graph.read(BY_TYPE), load_router("through")
    right = XdpRouter(FILTERS, router, section="by_type", filters=True)
    found = examine_router(right.forward, router, judge=GraphJudge(graph, router, verdicts=True), max_examples=100)
    assert found.clusters == ()
    assert {row.rule.clause for row in found.rows} >= {"h", "t", "d"}
    less = GraphJudge(Graph.read(BY_TYPE.replace("12/86dd", "12/88cc")), router, verdicts=True)
    assert len(examine_router(right.forward, router, judge=less, max_examples=100).clusters) == 1


def test_a_router_is_judged_by_a_graph_to_the_octet():
    """Of a graph that sends all back as they came; planted: one that paints an octet."""
    router, graph = (
        load_router("through"),
        "FromDevice(in) -> c :: Classifier(12/0800, -); q :: Queue -> ToDevice(in); {}",
    )
    back = XdpRouter(npx.program("mov r0, 3\nexit"), router)
    same = GraphJudge(Graph.read(graph.format("c[0] -> q; c[1] -> q;")), router)
    assert examine_router(back.forward, router, judge=same, max_examples=60).clusters == ()
    ages = GraphJudge(Graph.read(graph.format("c[1] -> Discard; c[0] -> MarkIPHeader(14) -> DecIPTTL -> q;")), router)
    titles = " ".join(one.title for one in examine_router(back.forward, router, judge=ages, max_examples=60).clusters)
    assert "time to live" in titles


def test_addresses_and_ports_that_a_graph_names_are_tried():
    graph = Graph.read("""FromDevice(in) -> MarkIPHeader(14) ->
    f :: IPClassifier(src net 10.0.0.0/8, udp and dst port 53, -);
    f[0] -> d :: Discard; f[1] -> d; f[2] -> Queue -> ToDevice(out);""")
    judge = GraphJudge(graph, load_router("through"), verdicts=True)
    found = examine_router(filter_of(10).forward, "through", judge=judge, max_examples=300)
    assert any(
        one.smallest.frame[23:24] == b"\x11" and one.smallest.frame[36:38] == b"\0\x35" for one in found.clusters
    )


def test_conform_takes_rules_and_graphs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("arp.click").write_text(BY_TYPE.replace("12/86dd", "12/88cc"))
    Path("all.toml").write_text('[[rule]]\nsource = "0.0.0.0/0"\n')
    filters = ["conform", "--xdp", str(FILTERS), "--section", "by_type", "--frames", "40", "--json"]
    assert main([*filters, "--click", "arp.click", "--verdicts"]) == 1
    assert json.loads(capsys.readouterr().out)["clusters"][0]["clause"] == "t"
    assert main([*filters, "--rules", "all.toml", "--drop", "unmatched"]) == 0
    assert main([*filters, "--rules", "all.toml", "--tests", "test_mine.py"]) == 1
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"],
                         capture_output=True, text=True, check=False)  # fmt: skip
    assert "1 failed" in ran.stdout, ran.stdout
    capsys.readouterr()
    for words, told in (
        (["--rules", "all.toml", "--verdicts"], "--click with --verdicts"),
        (["--click", "arp.click", "--rules", "all.toml"], "one of the two"),
        (["--rules", "all.toml", "--drop", "EFF"], "'EFF' is unknown"),
    ):
        assert main([*filters, *words]) == 2
        assert told in capsys.readouterr().err
    Path("eth.click").write_text("FromDevice(eth0) -> Queue -> ToDevice(out);")
    assert main([*filters, "--click", "eth.click"]) == 2
    assert "device 'eth0' of the graph is no port" in capsys.readouterr().err
