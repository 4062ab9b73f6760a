"""All element classes by the name a configuration uses; what is listed is tested."""

from npexplore.golden.elements import ip, link, plain
from npexplore.golden.elements.base import Element

ELEMENTS: dict[str, type[Element]] = {
    kind.__name__: kind
    for module in (plain, ip, link)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Element) and kind is not Element
}
