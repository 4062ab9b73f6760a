"""Packet classifiers by five header fields: the first matching rule wins. CLASSIFIERS lists them."""

from npexplore.golden.classify.base import Classifier
from npexplore.golden.classify.linear import LinearSearch
from npexplore.golden.classify.range_matching import RangeMatcher
from npexplore.golden.classify.tuple_space import TupleSpaceSearch

CLASSIFIERS: dict[str, type[Classifier]] = {
    "linear": LinearSearch,
    "range_matching": RangeMatcher,
    "tuple_space": TupleSpaceSearch,
}

__all__ = ["CLASSIFIERS", "Classifier", "LinearSearch", "RangeMatcher", "TupleSpaceSearch"]
