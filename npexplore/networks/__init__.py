"""Users' own networks of stations (models/networks/*.toml): their descriptions, and the solvers that answer them."""

from typing import TYPE_CHECKING

from npexplore.names import on_demand

if TYPE_CHECKING:
    from npexplore.networks.description import load_network as load_network
    from npexplore.networks.jmt import read_jsimg as read_jsimg
    from npexplore.networks.jmt_net import read_jmt_net as read_jmt_net
    from npexplore.networks.jmva import read_jmva as read_jmva
    from npexplore.networks.records import CustomerClass as CustomerClass
    from npexplore.networks.records import Network as Network
    from npexplore.networks.records import Station as Station
    from npexplore.networks.result import ClassResult as ClassResult
    from npexplore.networks.result import NetworkResult as NetworkResult
    from npexplore.networks.result import StationResult as StationResult
    from npexplore.networks.solve import solve_network as solve_network
else:
    __all__, __getattr__, __dir__ = on_demand(__name__)
