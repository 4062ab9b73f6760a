"""All element classes by their names in configurations; every listed class is tested."""

from npexplore.golden.elements import filters, icmp, ip, link, options, plain, reassembler, rewriter, sources, transport
from npexplore.golden.elements.base import Element

ELEMENTS: dict[str, type[Element]] = {
    name: kind
    for module in (plain, ip, icmp, options, link, filters, sources, transport, rewriter, reassembler)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Element) and kind is not Element and not name.startswith("_")
}
