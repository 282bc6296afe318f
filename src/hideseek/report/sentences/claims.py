"""What an attack claims that nobody could judge: how many things, from which rows, and what it is sure of itself."""

import statistics
from collections.abc import Sequence
from itertools import chain, repeat

from hideseek.records.result import Claimed, RowGroups
from hideseek.report.sentences.numbers import counted, joined, sentence


def claims(said: Sequence[Claimed]) -> str:
    """Say what an attack claims that cannot be judged, and what it is sure of itself."""
    if not said:
        return "It claims nothing."
    unsure = "it confirms none of this, and nobody here can judge it"
    left = "nobody here can judge what it does not confirm" if any(each.sure for each in said) else unsure
    return joined(*(sentence(f"it gives {_claim(each)}") for each in said), sentence(left))


def _claim(said: Claimed) -> str:
    """Say what one claim states.

    >>> groups = RowGroups(12, {2: 3, 6: 1})
    >>> _claim(Claimed("links", 1200, "{count} pairs, {taken} linked: {groups}", taken=9, groups=groups))
    '1,200 pairs, 9 linked: 4 groups of 2 to 6 rows (median 2), 12 rows in all'
    """
    rows = "" if said.groups is None else _groups(said.groups)
    found = said.finding.format(count=f"{said.count:,}", taken=f"{said.taken or 0:,}", groups=rows)
    return f"{found} ({said.sure:,} confirmed by itself)" if said.sure else found


def _groups(groups: RowGroups) -> str:
    """Say how many groups there are, and how many rows are in them.

    >>> _groups(RowGroups(5, {5: 1}))
    '1 group of 5 rows'
    """
    if not groups.sizes:
        return "no rows"
    count, least, most = sum(groups.sizes.values()), min(groups.sizes), max(groups.sizes)
    each = list(chain.from_iterable(repeat(size, times) for size, times in groups.sizes.items()))
    sizes = f"{least:,} to {most:,} rows (median {statistics.median_low(each):,})"
    told = f"{counted(count, 'group')} of {counted(most, 'row') if least == most else sizes}"
    return told if count == 1 else f"{told}, {counted(groups.rows, 'row')} in all"
