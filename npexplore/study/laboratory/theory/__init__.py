"""Exact or best known results for resources alone: one function a kind, each with its source."""

from npexplore.study.laboratory.theory.results import Theory as Theory
from npexplore.study.laboratory.theory.results import theory_of as theory_of
