"""Curves of a sweep with a slider for each knob: interactive in a notebook, a figure with one slider on a page.

All points are computed beforehand; moving a slider only selects the points to draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from npexplore.errors import InputError, UnknownNameError
from npexplore.plot import theme
from npexplore.plot.line_plots import LOG_AXIS, SYMBOLS

if TYPE_CHECKING:
    import pandas as pd

FIGURE, WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"


class Explorer:
    """y over x of a table, a line for each value of `series`, one combination of `knobs` at a time.

    table: one row for each point. start: the combination drawn first (default: the first value of each knob). The y
    axis keeps its range when a slider moves. Raises UnknownNameError for an unknown column or value, InputError if
    several rows belong to one point.

    Example:
        >>> import pandas as pd
        >>> from npexplore.plot import Explorer
        >>> table = pd.DataFrame({"x": [1, 2], "y": [1, 2], "banks": [4, 4]})
        >>> Explorer(table, "x", "y", ["banks"], title="t", x_title="x", y_title="y") is not None
        True
    """

    def __init__(
        self, table: pd.DataFrame, x: str, y: str, knobs: Sequence[str], *, series: str | None = None, title: str,
        x_title: str, y_title: str, log_x: bool = False, start: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        for name in (x, y, *knobs, *([series] if series else [])):
            if name not in table.columns:
                raise UnknownNameError("column of the table", name, [str(column) for column in table.columns])
        if not knobs:
            raise InputError("an explorer needs at least one knob, got none")
        if table.duplicated([x, *knobs, *([series] if series else [])]).any():
            varied = [str(name) for name in table.columns if name not in (x, y, *knobs, series)]
            which = ", ".join(varied) or "rows"
            raise InputError(f"an explorer needs one row for each point, got several; choose among {which}")
        self.table, self.x, self.y, self.series, self.log_x = table.sort_values(x), x, y, series, log_x
        self.values = {knob: list(table[knob].drop_duplicates().sort_values()) for knob in knobs}
        self.names = list(table[series].drop_duplicates()) if series else [y_title]
        self.titles = title, x_title, y_title
        self.start = {knob: values[0] for knob, values in self.values.items()} | dict(start or {})
        for knob, value in self.start.items():
            if value not in self.values.get(knob, []):
                raise UnknownNameError(f"start of knob {knob}", str(value), map(str, self.values.get(knob, [])))

    def lines(self, chosen: Mapping[str, Any]) -> tuple[list[list[Any]], list[list[float | None]]]:
        """Return (x, y) of every line at a combination of knobs; a line without points is empty; NaN becomes None."""
        part = self.table
        for knob, value in chosen.items():
            part = part[part[knob] == value]
        parts = [part[part[self.series] == name] for name in self.names] if self.series else [part]
        return [list(line[self.x]) for line in parts], [
            [None if value != value else value for value in line[self.y]] for line in parts
        ]

    def figure(self) -> go.Figure:
        """Return the curves at the start, with a slider for the first knob, which needs no kernel."""
        figure = self._drawn(go.Figure())
        knob, values = next(iter(self.values.items()))
        steps = []
        for value in values:
            xs, ys = self.lines(self.start | {knob: value})
            steps.append({"label": str(value), "method": "restyle", "args": [{"x": xs, "y": ys}]})
        fixed = ", ".join(f"{name} = {value}" for name, value in self.start.items() if name != knob)
        figure.update_layout(
            sliders=[
                {"active": values.index(self.start[knob]), "steps": steps, "currentvalue": {"prefix": f"{knob} = "},
                 "pad": {"t": 60}}
            ],
            height=540,
        )  # fmt: skip
        if fixed:
            figure.update_layout(title={"subtitle": {"text": fixed}})
        return figure

    def widget(self) -> Any:
        """Return the interactive form: a slider for each knob above the figure; needs the extra `lab`."""
        import ipywidgets

        figure = self._drawn(go.FigureWidget())
        sliders = {
            knob: ipywidgets.SelectionSlider(
                options=[(str(value), value) for value in values], value=self.start[knob], description=knob,
                continuous_update=True, layout={"width": "30em"}, style={"description_width": "10em"},
            )
            for knob, values in self.values.items()
        }  # fmt: skip

        def redraw(_: Any) -> None:
            xs, ys = self.lines({knob: slider.value for knob, slider in sliders.items()})
            with figure.batch_update():
                for trace, line_x, line_y in zip(figure.data, xs, ys, strict=True):
                    trace.x, trace.y = line_x, line_y

        for slider in sliders.values():
            slider.observe(redraw, names="value")
        return ipywidgets.VBox([*sliders.values(), figure])

    def _drawn(self, figure: go.Figure) -> go.Figure:
        title, x_title, y_title = self.titles
        for number, (name, line_x, line_y) in enumerate(zip(self.names, *self.lines(self.start), strict=True)):
            mark = {"symbol": SYMBOLS[number % len(SYMBOLS)]}
            figure.add_scatter(x=line_x, y=line_y, name=str(name), mode="lines+markers", marker=mark)
        highest = float(self.table[self.y].max())
        figure.update_layout(
            title=title, template=theme.TEMPLATE, xaxis_title=x_title, yaxis_title=y_title,
            showlegend=self.series is not None, legend_title_text=self.series or "",
        )  # fmt: skip
        figure.update_yaxes(range=[0, 1.05 * highest])
        if self.log_x:
            figure.update_xaxes(**LOG_AXIS)
        return figure

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the figure and, if widgets are installed, the interactive form; the viewer chooses one."""
        import json

        bundle: dict[str, Any] = {FIGURE: json.loads(self.figure().to_json())}
        try:
            live = self.widget()
        except ImportError:
            return bundle
        return bundle | {WIDGET: live.get_view_spec(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        knobs = ", ".join(f"{knob} ({len(values)})" for knob, values in self.values.items())
        return f"Explorer({self.y} over {self.x}; {knobs}; {len(self.table)} points)"
