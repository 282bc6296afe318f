"""A fixed benchmark of ways of sharing: measured alike, checked for their evidence, and put beside each other."""

from hideseek.bench.board import as_markdown, ranked, worst_of
from hideseek.bench.check import flaws
from hideseek.bench.entry import Entry, Evidence, entries, place_of, read_entry
from hideseek.bench.measure import measured
from hideseek.bench.problem import Problem, named, problem
from hideseek.bench.protocol import BENCHMARKS, PROTOCOLS, QUICK, STANDARD, Protocol, Track

__all__ = [
    "BENCHMARKS",
    "PROTOCOLS",
    "QUICK",
    "STANDARD",
    "Entry",
    "Evidence",
    "Problem",
    "Protocol",
    "Track",
    "as_markdown",
    "entries",
    "flaws",
    "measured",
    "named",
    "place_of",
    "problem",
    "ranked",
    "read_entry",
    "worst_of",
]
