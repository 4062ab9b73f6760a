"""Draws cases from strategies outside of tests; every run draws the same cases."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from npexplore.golden.router.configuration import Router, load_router
from npexplore.testing.routers import frames as frames_for

Case = tuple[int, bytes]  # port, frame


def as_router(router: Router | str | Path) -> Router:
    """Return a router's configuration, read if it is a path."""
    return router if isinstance(router, Router) else load_router(router)


def example_settings(max_examples: int) -> settings:
    """Return settings under which every run draws the same cases."""
    return settings(
        max_examples=max_examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )


def cases_for(
    router: Router, count: int, *, cases: st.SearchStrategy[Case] | None = None, start: int | None = None
) -> list[Case]:
    """Return `count` frames that try a router, the same in every run.

    cases: a strategy to use instead of `frames(router)`; start: a seed, to draw other frames.
    """
    chosen: list[Case] = []

    @example_settings(count)
    @given(frames_for(router) if cases is None else cases)
    def collect(case: Case) -> None:
        chosen.append(case)

    (collect if start is None else seed(start)(collect))()
    return chosen[:count]
