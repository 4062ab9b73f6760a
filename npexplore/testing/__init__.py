"""Tests of a user's own router: random frames, and oracles that compare the router with the golden router.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.testing.bench import Bench as Bench
    from npexplore.testing.captures import check_captures as check_captures
    from npexplore.testing.captures import examine_captures as examine_captures
    from npexplore.testing.conformance import Conformance as Conformance
    from npexplore.testing.examining import examine_router as examine_router
    from npexplore.testing.exports import write_captures as write_captures
    from npexplore.testing.exports import write_tests as write_tests
    from npexplore.testing.fib import forwarding_tables as forwarding_tables
    from npexplore.testing.links import LinkRouter as LinkRouter
    from npexplore.testing.live_kernel import LiveKernel as LiveKernel
    from npexplore.testing.live_xdp import LiveXdpRouter as LiveXdpRouter
    from npexplore.testing.oracles import check_lookup as check_lookup
    from npexplore.testing.oracles import check_router as check_router
    from npexplore.testing.programs import run_captures as run_captures
    from npexplore.testing.references import GraphJudge as GraphJudge
    from npexplore.testing.references import RulesJudge as RulesJudge
    from npexplore.testing.routers import arrival_times as arrival_times
    from npexplore.testing.routers import frames as frames
    from npexplore.testing.routers import router_configurations as router_configurations
    from npexplore.testing.rule_strategies import headers_near as headers_near
    from npexplore.testing.rule_strategies import rule_sets as rule_sets
    from npexplore.testing.rule_strategies import rules as rules
    from npexplore.testing.strategies import addresses as addresses
    from npexplore.testing.strategies import addresses_near as addresses_near
    from npexplore.testing.strategies import ip_options as ip_options
    from npexplore.testing.strategies import ipv4_packets as ipv4_packets
    from npexplore.testing.strategies import prefixes as prefixes
    from npexplore.testing.strategies import routing_tables as routing_tables
    from npexplore.testing.strategies import updates as updates
    from npexplore.testing.strategies6 import addresses6 as addresses6
    from npexplore.testing.strategies6 import addresses_near6 as addresses_near6
    from npexplore.testing.strategies6 import ipv6_packets as ipv6_packets
    from npexplore.testing.strategies6 import label_stacks as label_stacks
    from npexplore.testing.strategies6 import prefixes6 as prefixes6
    from npexplore.testing.strategies6 import routing_tables6 as routing_tables6
    from npexplore.testing.strategies6 import updates6 as updates6
    from npexplore.testing.verdicts import CounterexampleError as CounterexampleError
    from npexplore.testing.verdicts import compare as compare
    from npexplore.testing.xdp import XdpRouter as XdpRouter
else:
    __all__, __getattr__, __dir__ = on_demand(__name__, {"hypothesis": "test"})
