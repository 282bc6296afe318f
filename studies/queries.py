"""What the server learns that answers hidden queries: of the training images they are mixed with, and of the queries.

Hidden inference (InstaHide §3.3) averages the answers to T encodings of an image. With private test images the partners
come from the party's own training set: every query carries training images to the server, which knows neither them nor
the keys. The attacks are those on releases, run on what the server sees, and judged by the truth about the pool:

    python studies/queries.py
    python studies/queries.py --only "mixup, k=2"
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
import tyro
from ledger import HERE, Ledger, Study, Trial, chosen, table

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, RecipeEncoder
from hideseek.hide.files.schemes import to_json
from hideseek.hide.mixing.queries import about_pool, hide_queries
from hideseek.records import Samples
from hideseek.score.judge import judge
from hideseek.score.roc import auc, tpr_at_fpr
from hideseek.seek import run
from hideseek.seek.rows.averaging import AverageKnown
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.signals.white_search import WhiteSearch
from hideseek.seek.signals.whitening import squares

SCHEMES: dict[str, RecipeEncoder] = {
    "mixup, k=2": Mixup(k=2),
    "mixup, k=4": Mixup(k=4),
    "instahide, k=2": InstaHide(k=2),
    "instahide, k=4": InstaHide(k=4),
}
PUBLIC, OTHERS = 30_000, 40_000  # where, in CIFAR-10, public partners begin, and candidates that are in no pool
TIMES = 10  # T, encodings of a query
SIZES = {"cpu": (100, (20, 50, 100, 200)), "paper": (1000, (200, 500, 1000, 2000))}  # of the pool; queries
TITLE = "Hidden inference: what queries show of the training images"
ABOUT = """Every query is sent as {times} encodings, each mixed with images of a pool of {pool} training images; pool
and queries are different images of CIFAR-10. The server sees the encodings alone, without labels, and knows which are
of one query. Every figure is in `queries-{scale}.json`, with its settings, seed and commit.

- *recovered*: the share of the pool's images that `mixup-pairs` recovers, by the metric of that name; other images of
  the pool in their place, matched alike: {baseline}.
- *linked*: the AUC of its scores for pairs of rows that share an image of the pool; 0.5 is chance.
- *candidates*: a server that also has the pool's images among as many others tells them apart by white inner products
  (of squares under a mask): AUC, and TPR at 1 % FPR.
- *query*: the mean correlation of a query with the average of its encodings (`average-known`; under a mask, of absolute
  values); beside it the best baseline.
"""
ADVICE = """Partners that are public images keep the pool out of queries: name them as the pool (`predict --hidden
--pool`). Then {queries} queries leave the candidates at chance: AUC {span} over the four schemes.
"""


def trials(pool: int, counts: tuple[int, ...]) -> Iterator[Trial]:
    """Give every scheme with every number of queries."""
    for name, scheme in SCHEMES.items():
        for queries in counts:
            settings = {"pool": pool, "queries": queries, "times": TIMES, "scheme": to_json(scheme), "data": "cifar10"}
            attacked = partial(measured, scheme, queries, pool)
            yield Trial("queries", f"{name}, {queries} queries", settings, attacked, judged=True)
            with_candidates = partial(picked, scheme, queries, pool)
            yield Trial("candidates", f"candidates, {name}, {queries} queries", settings, with_candidates)


def controls(pool: int, counts: tuple[int, ...]) -> Iterator[Trial]:
    """Give every scheme with public partners, and as many queries as there may be."""
    for name, scheme in SCHEMES.items():
        settings = {
            "pool": pool,
            "queries": counts[-1],
            "times": TIMES,
            "scheme": to_json(scheme),
            "partners": "public",
        }
        run_it = partial(picked, scheme, counts[-1], pool, public=True)
        yield Trial("public", f"public partners, {name}", settings, run_it)


def measured(scheme: RecipeEncoder, queries: int, pool: int) -> dict[str, Any]:
    """Attack what the server sees of some queries, and judge it by the truth about the pool and about the queries."""
    members, asked = images(pool, queries)
    release, secret = hide_queries(scheme, asked, members, None, seeded(1), TIMES)
    linked, truth = secret.reveal(release, ("made_for",)), about_pool(secret, pool)
    of_pool = {
        score.metric: score
        for score in judge(run(MixupPairs(), release, seeded(2)), truth, seeded(3), ("recovered", "auc")).scores
    }
    evidence = run(AverageKnown(), linked, seeded(2))
    likeness = "absolute-correlation" if scheme.masked else "correlation"
    (of_queries,) = judge(evidence, secret, seeded(3), (likeness,)).scores
    recovered, links = of_pool["recovered"], of_pool["auc"]
    return {
        "rows of a pool image": round(queries * TIMES * (release.scheme.images_per_row.private - 1) / pool, 1),
        "recovered": round(float(recovered.values.nan_to_num().sum()) / pool, 3),  # not every guess is of the pool
        "recovered by a baseline": round(recovered.baselines[recovered.best_baseline].mean, 3),
        "linked": round(links.interval.mean, 3),
        "linked, low": round(links.interval.low, 3),
        "query": round(of_queries.interval.mean, 3),
        "query by a baseline": round(of_queries.baselines[of_queries.best_baseline].mean, 3),
    }


def picked(scheme: RecipeEncoder, queries: int, pool: int, *, public: bool = False) -> dict[str, Any]:
    """Tell the pool's images from as many others, for a server that has both as candidates.

    A candidate's score is the mean of its largest inner products with rows, of what is white in them, squared under a
    mask; as many as there are rows for each image of the pool, which the server can count. With `public`, queries are
    mixed with public images instead, and there is nothing to tell.
    """
    members, asked = images(pool, queries)
    apart = normalise(load("cifar10").take(slice(PUBLIC, PUBLIC + pool)), members.normalisation)
    release, _ = hide_queries(scheme, asked, apart if public else members, None, seeded(1), TIMES)
    others = normalise(load("cifar10").take(slice(OTHERS, OTHERS + pool)), members.normalisation)
    compare = WhiteSearch.like(release.encoded, squares if scheme.masked else torch.clone)
    rows = max(1, len(release.encoded) * (scheme.images_per_row.private - 1) // pool)
    products = compare(torch.cat([members.pixels(), others.pixels()])) @ compare(release.encoded.pixels()).T
    scores, inside = products.topk(rows).values.mean(1), torch.arange(2 * pool) < pool
    return {"auc": round(auc(scores, inside), 3), "tpr@fpr=0.01": round(tpr_at_fpr(scores, inside, 0.01), 3)}


def images(pool: int, queries: int) -> tuple[Samples, Samples]:
    """Load a pool and, after it in the training set, the queries."""
    whole = load("cifar10")
    members = normalise(whole.take(slice(0, pool)), "channel")
    return members, normalise(whole.take(slice(pool, pool + queries)), members.normalisation)


def markdown(ledger: Ledger, pool: int, counts: tuple[int, ...]) -> str:
    """Write what was measured, a row for each scheme and number of queries."""
    rows, baseline = [], 0.0
    for name in SCHEMES:
        for queries in counts:
            found = ledger.results(f"{name}, {queries} queries")
            if found is not None:
                baseline = max(baseline, found["recovered by a baseline"])
                mark = ledger.mark(f"{name}, {queries} queries")
                share = f"{100 * found['recovered']:.0f} %{mark}"
                query = f"{found['query']:.2f} ({found['query by a baseline']:.2f}){mark}"
                told = ledger.results(f"candidates, {name}, {queries} queries")
                member = f"{told['auc']:.2f}, {100 * told['tpr@fpr=0.01']:.0f} %" if told else ""
                each, linked = str(found["rows of a pool image"]), f"{found['linked']:.2f}{mark}"
                rows.append([name, str(queries), each, share, linked, member, query])
    heads = [
        "scheme",
        "queries",
        "rows of a pool image",
        "recovered",
        "linked",
        "candidates",
        "query (baseline)",
    ]
    scale = ledger.path.stem.rpartition("-")[2]
    about = ABOUT.format(times=TIMES, pool=pool, scale=scale, baseline=f"{100 * baseline:.0f} %")
    at_chance = [result["auc"] for name in SCHEMES if (result := ledger.results(f"public partners, {name}"))]
    span = f"{min(at_chance):.2f} to {max(at_chance):.2f}" if at_chance else "not measured"
    advice = ADVICE.format(queries=counts[-1], span=span)
    parts = [f"# {TITLE}\n", about, table(heads, rows), advice, ledger.legend("queries.py")]
    return "\n".join(part for part in parts if part)


def main() -> None:
    """Measure, and write JSON and Markdown."""
    asked = tyro.cli(Study, description=__doc__)
    path = asked.json or HERE / "results" / f"queries-{asked.scale}.json"
    ledger = Ledger.open(path, TITLE)
    sizes = SIZES[asked.scale]
    if not asked.render:
        ledger.measure(chosen((*trials(*sizes), *controls(*sizes)), asked.only), asked.stale)
    path.with_suffix(".md").write_text(markdown(ledger, *sizes), "utf-8")


if __name__ == "__main__":
    main()
