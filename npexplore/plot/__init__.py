"""Figures from result tables; no computing."""

from npexplore.imports import load_jsonschema

load_jsonschema()  # before plotly does, by way of nbformat
