"""The encodings of updates: each update is inverted, and what comes back is a release of rows."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import EncodedRelease, Samples
from hideseek.records.claims import Reconstruction
from hideseek.records.mixing_encoder import MixingEncoder
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.row_labels import row_labels, same_order
from hideseek.seek.updates.first_layer import EXACT as EXACT_DEFENCES
from hideseek.seek.updates.first_layer import FirstLayer
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.matched_update import Matcher, Shared
from hideseek.train.first_dense import FirstDense, first_dense

CERTIFIED = 0.5  # of rows that a layer must certify, where steps or pruning leave less than a gradient
DOUBTED = 0.1  # the precision of rows that are not, beside those that are
EXACT = 1e-6  # a distance of gradients below which rows are right


@dataclass(frozen=True)
class InvertedRows:
    """Rows of all updates, those of the first update first, in the order that is given, where labels are."""

    rows: Samples
    remarks: dict[str, Any]
    precision: Float[Tensor, " rows"] | None = None
    """One over the error of each row, but for a factor; None: all alike."""

    def release(self, of: UpdateRelease) -> EncodedRelease:
        """Give them as if they had been shared; an attacker who knows the mix knows it of them too.

        Rows without a mask are linear in their weights: both are multiplied by the precision, as weighted least squares
        ask for.
        """
        encoding = of.scheme.encoding
        assert isinstance(encoding, MixingEncoder)  # noqa: S101 (attacks refuse others)
        rounds = 1 if of.round_of is None else int(of.round_of.max()) + 1
        rows, weights = self.rows, None if of.weights is None else torch.cat(of.weights).float()
        if weights is not None and self.precision is not None and not encoding.masked:
            rows = replace(rows, images=rows.images * self.precision[:, None, None, None])
            weights = weights * self.precision[:, None]
        return EncodedRelease(
            rows,
            encoding,
            rounds=rounds,
            weights=weights,
            sources=None if of.sources is None else torch.cat(of.sources),
            own=of.own,
            seed=of.seed,
        )


def exact_layer(release: UpdateRelease) -> FirstDense | None:
    """Give the first dense layer, where pixels reach it, and no number that was sent was changed."""
    scheme = release.scheme
    if any(defence.mechanism not in EXACT_DEFENCES for defence in scheme.defences):
        return None
    found = first_dense(release.models[0], release.shape, scheme.mode)
    return None if isinstance(found, str) else found


def without_values(release: UpdateRelease) -> EncodedRelease:
    """Give the rows that updates are of, all of them zero, to ask an attack on rows whether it applies."""
    sizes = release.sizes or (release.scheme.work.images,) * len(release.updates)
    rows = torch.zeros(1, 1, 1, 1).expand(sum(sizes), *release.shape)
    labels = torch.zeros(1, 1).expand(len(rows), release.classes)
    return InvertedRows(Samples(rows, labels, normalisation=release.normalisation), {}).release(release)


def inverted_rows(
    release: UpdateRelease, first: FirstLayer, matching: GradientMatching, chance: Randomness
) -> InvertedRows:
    """Invert every update: exactly by its first layer, where that is dense, and by gradient matching elsewhere."""
    if (exact := rows_by_layer(release, first, chance)) is not None:
        return exact
    return matched_rows(release, matching, chance)


def matched_rows(release: UpdateRelease, matching: GradientMatching, chance: Randomness) -> InvertedRows:
    """Invert every update by gradient matching."""
    known = release.labels is not None
    attack = replace(matching, labels="known" if known else matching.labels)
    shared, numbers = Shared(release), track(range(len(release.updates)), "updates")
    found = [Matcher(attack, release, number, shared).match(chance) for number in numbers]
    distance = sum(each.distance for each in found) / len(found)
    precision = torch.cat([torch.full((len(each.images),), (each.distance + EXACT) ** -0.5) for each in found])
    images, labels = (torch.cat([getattr(each, name).float().cpu() for each in found]) for name in ("images", "labels"))
    return InvertedRows(
        Samples(images, labels, normalisation=release.normalisation),
        {"rows by": "gradient matching", "mean distance of gradients": f"{distance:.3g}"},
        precision / precision.max(),
    )


def rows_by_layer(release: UpdateRelease, first: FirstLayer, chance: Randomness) -> InvertedRows | None:
    """Solve the first layer, and tell each row's label; None where it is not dense, or too much of it was pruned.

    An input is the same in all local steps. The labels of several steps are told as if the model had not moved.
    """
    layer, scheme = exact_layer(release), release.scheme
    if layer is None:
        return None
    evidence = first.seek(release, chance)
    (claim,) = (each for each in evidence.claims if isinstance(each, Reconstruction))
    assert claim.sure is not None  # noqa: S101 (the layer tells)
    whole = scheme.work.one_gradient and not scheme.defences
    if not whole and float(claim.sure.double().mean()) < CERTIFIED:
        return None
    images, labels, sure = [], [], []
    bounds = [0, *claim.about.bincount(minlength=len(release.updates)).cumsum(0).tolist()]
    for number, (start, end) in enumerate(track(list(pairwise(bounds)), "labels of rows")):
        some, certain = claim.images[start:end], claim.sure[start:end]
        if not len(some):
            continue
        work, matrix = scheme.work, layer.matrix(release.updates[number])
        scale = work.rate * work.epochs * -(-len(some) // work.batch) if scheme.sends == "weights" else 1.0
        network = release.model(number).network().train(scheme.mode == "train")
        found = row_labels(network, layer, matrix / scale, some, matrix != 0 if scheme.defences else None)
        given: Tensor | None = None if release.labels is None else release.labels[number]
        if given is not None and len(given) == len(some):
            order = same_order(found, given)
            some, certain, found = some[order], certain[order], given
        images.append(some)
        sure.append(certain)
        labels.append(found)
    rows = Samples(torch.cat(images), torch.cat(labels), normalisation=release.normalisation)
    remarks = {"rows by": f"the layer {layer.name}", "certified rows": int(claim.sure.sum())}
    return InvertedRows(rows, remarks, None if whole else torch.where(torch.cat(sure), 1.0, DOUBTED))
