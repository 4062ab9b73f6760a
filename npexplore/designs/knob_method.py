"""Methods that take knobs as keywords: their signature lists the object's knobs, so that shells can complete them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from npexplore.machine.parameters import Parameter

F = TypeVar("F", bound=Callable[..., Any])


class BoundKnobMethod:
    """A method with knobs as keywords, bound to one object."""

    def __init__(self, function: Callable[..., Any], holder: Any) -> None:
        self.__wrapped__, self.__self__ = function, holder
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__

    def __call__(self, **knobs: Any) -> Any:
        """Call the method."""
        return self.__wrapped__(self.__self__, **knobs)

    @property
    def knobs(self) -> Mapping[str, Parameter]:
        """The knobs by name."""
        knob_records: Mapping[str, Parameter] = self.__self__.parameters.file.parameter
        return knob_records

    @property
    def __signature__(self) -> inspect.Signature:
        values = {**{name: knob.value for name, knob in self.knobs.items()}, **self.__self__.parameters.changed()}
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature([
            inspect.Parameter(name, keyword, default=value, annotation=type(value))
            for name, value in values.items() if name.isidentifier()
        ])  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.__name__}{self.__signature__}"


class KnobMethod:
    """A method of a class whose objects have `parameters`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, holder: Any, owner: type | None = None) -> Any:
        """Return the method of an object, or the function itself for the class."""
        return self.function if holder is None else BoundKnobMethod(self.function, holder)


def takes_knobs(function: F) -> F:
    """Let a method's signature list the knobs of its object."""
    return cast(F, KnobMethod(function))
