"""The attack that broke InstaHide: rows compared by a network, clusters, a flow, and a solve (Carlini et al. 2021)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Links, Reason, Reconstruction, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.networks.colours import colour_network, recoloured
from hideseek.seek.networks.comparer_cache import kept_comparer
from hideseek.seek.networks.own_encodings import own_encodings, without_images
from hideseek.seek.networks.row_comparer import features, forward_work
from hideseek.seek.networks.train_comparer import BATCH, MEMBERS, Network, own_release, told_apart, train_comparer
from hideseek.seek.networks.wide_comparer import PAIRS, WideResNet
from hideseek.seek.refusals import check_spread, without_pairs
from hideseek.seek.run import check
from hideseek.seek.signals.cliques import cliques, cliques_work
from hideseek.seek.signals.image_groups import image_groups
from hideseek.seek.signals.links import RowClasses
from hideseek.seek.systems.row_assignment import assigned, assignment_work
from hideseek.seek.systems.unsigned_solve import solve_work, unsigned_solve
from hideseek.seek.work import CALL, TOUCH, largest

LINKED = 50  # rows whose scores with all others are claimed
TRIPLES = 8  # of the members of a cluster, that a row is compared with
FULL = 0.6  # of the rows that an image is in, gathered in a cluster
OWN_IMAGES, OWN_ROUNDS = 40, 20  # that are encoded and solved to learn colours from, at most
LEAST_SIDE = 4  # pixels: the network halves a picture twice
LEAST_STEPS = 20
STEP = 250  # calls of a step of training


@dataclass(frozen=True)
class Carlini(Attack[EncodedRelease]):
    """Compare rows by a network, gather clusters, assign rows to them, and solve for images: Carlini et al. 2021.

    1. Absolute values undo the mask. 2. A network, trained on rows that the attacker makes of public images, scores
    whether two rows share a private image. 3. Sets of rows grow greedily by summed scores, one for each image. 4. A
    second network scores rows against three members of a set, and a flow of least cost gives each row its images, of
    the classes in its label. 5. Weights are the label's, halved where both images are of one class. 6. Adam solves for
    images from absolute values: min_x Σ_r min_± ‖|x̃_r| ∓ Σ_j λ_rj x_{s_rj}‖². 7. A network corrects the colours of
    pixels.
    Deviation: the network is small, siamese (`row_comparer`), to train on a processor; theirs, with `wide`, is a
    WideResNet on both rows stacked, trained for ten hours on a GPU. Rows without a common class are not compared. The
    second network has the form of the first; a small one starts from it. Colours are learned from images of the
    attacker's own, solved likewise.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    source: ClassVar[str] = "Carlini et al. 2021"
    shows: ClassVar[Harm] = Harm.LIKENESS  # signs stay ambiguous in what it solves

    steps: int = 800
    """Of training the network that compares rows; a quarter as many train the second."""
    seeds: int = 30
    """Rows from which sets grow, for each image."""
    solve_steps: int = 1000
    """Of solving for images."""
    wide: WideResNet | None = None
    """The published network, for a GPU; None: the small one."""

    def __post_init__(self) -> None:
        if min(self.steps, self.seeds, self.solve_steps) < 1:
            raise BadInput("steps, seeds and solve_steps must be 1 or more.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Train, link, gather, assign, solve, and correct colours."""
        check(self, release)
        rows, private = release.encoded.pixels().float(), release.scheme.images_per_row.private
        check_spread(rows - rows.mean(0))
        labels = release.mixed_labels
        if not float(labels.clamp_min(0).sum()) > 0:  # labels that say nothing are none
            release = replace(release, encoded=replace(release.encoded, labels=labels[:, :0], classes=()))
        classes = RowClasses.of(release)
        first, second = self._networks(release, chance)
        remarks: dict[str, float | int] = {"told apart on own rows": told_apart(first, release, chance)}
        there = classes.images > 0
        scores = first.pair_scores(rows, (there.float() @ there.float().T) > 0)
        images = len(rows) // release.rounds
        sets, of_class = cliques(
            scores, classes, images, max(2, round(FULL * private * release.rounds)), self.seeds, chance
        )
        members = [each[chance.integers(len(each), TRIPLES * MEMBERS)].view(TRIPLES, MEMBERS) for each in sets]
        fit = second.cluster_scores(rows, torch.stack(members), there[:, of_class])
        sources = assigned(fit, there, of_class, release.rounds, private)
        weights = _weights(release, classes)[torch.arange(len(rows))[:, None], of_class[sources]]
        solved = unsigned_solve(rows.flatten(1), sources, weights, len(sets), self.solve_steps)
        guesses = self._recoloured(solved.view(-1, *rows.shape[1:]), release, chance)
        remarks["sets"] = len(sets)
        remarks["density"] = float(torch.stack([scores[each][:, each].mean() for each in sets]).mean())
        queries = chance.permutation(len(rows))[:LINKED].sort().values
        others = torch.ones(len(queries), len(rows), dtype=torch.bool).scatter_(1, queries[:, None], False)
        one, other = others.nonzero(as_tuple=True)
        links = Links(queries[one], other, scores[queries][one, other])
        groups = image_groups(sources, weights, len(sets))
        return Evidence((Reconstruction(guesses, torch.arange(len(guesses)), "any", groups=groups), links), remarks)

    def _networks(self, release: EncodedRelease, chance: Randomness) -> tuple[Network, Network]:
        """Train both networks, or take them from an earlier run."""
        streams = chance.spawn(2)
        fewer, wide = max(1, self.steps // 4), self.wide

        def train_first() -> Network:
            return train_comparer(release, self.steps, 1, streams[0], wide=wide)

        first = kept_comparer(release, self.steps, 1, streams[0], train_first, wide)

        def train_second() -> Network:
            return train_comparer(release, fewer, MEMBERS, streams[1], wide=wide, start=first)

        return first, kept_comparer(release, fewer, MEMBERS, streams[1], train_second, wide)

    def _recoloured(
        self, solved: Float[Tensor, "n c h w"], release: EncodedRelease, chance: Randomness
    ) -> Float[Tensor, "n c h w"]:
        """Learn colours from images of the attacker's own that are solved likewise, from rows that he knows all of."""
        training, _ = own_encodings(release, BATCH, BATCH, chance)
        rounds = min(OWN_ROUNDS, release.rounds)
        own, sources, images = own_release(training, OWN_IMAGES, rounds, chance)
        weights = torch.full(sources.shape, 1 / sum(release.scheme.images_per_row))
        steps = max(1, self.solve_steps // 2)
        known = unsigned_solve(own.encoded.pixels().flatten(1), sources, weights, len(images), steps)
        known = known.view(-1, *solved.shape[1:])
        return recoloured(colour_network(known, images.pixels(), chance), solved)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without a mask, features, rows that share no image, and an attacker without images."""
        if not release.scheme.masked:
            return Refusal(Reason.NOT_MASKED)
        if min(release.encoded.shape[1:]) < LEAST_SIDE:
            return Refusal(Reason.NO_PLACES)
        return without_pairs(release) or without_images(release)

    def work(self, task: Task) -> float:
        """Count training, all pairs of rows, sets, the flow, and the solves."""
        encode = 2 * task.images_per_item * task.pixels * TOUCH
        if self.wide is None:
            forward = forward_work(task)
            training = 1.25 * self.steps * (BATCH * (3 * forward + encode) + STEP * CALL)
            looking = 3 * task.items * (forward + features(task) * (task.items / 3 + 2 * TOUCH))
        else:
            pair, several = (self.wide.forward_work(task, 1 + others) for others in (1, MEMBERS))
            training = self.steps * (3 * PAIRS * (pair + several / 4) + 1.25 * (BATCH * encode + 4 * STEP * CALL))
            looking = task.items * (task.items * pair / 2 + TRIPLES * task.images * several)
        size = max(2, task.items // max(1, task.images))
        gathering = cliques_work(task.items, task.images, size, self.seeds) + assignment_work(task.items, task.images)
        rows = task.items + min(OWN_IMAGES * OWN_ROUNDS, task.items)
        return training + looking + gathering + solve_work(rows, task.images_per_item, task.pixels, self.solve_steps)

    def within(self, work: float, task: Task) -> Self:
        """Solve and grow from fewer, then train for fewer steps."""
        if self.work(task) <= work:
            return self
        fewer = replace(self, solve_steps=min(self.solve_steps, 100), seeds=min(self.seeds, 10))

        def work_of(steps: int) -> float:
            return replace(fewer, steps=steps).work(task)

        return replace(fewer, steps=largest(work_of, LEAST_STEPS, self.steps, work))


def _weights(release: EncodedRelease, classes: RowClasses) -> Float[Tensor, "m classes"]:
    """Give the weight of an image of each class in a row; without labels, an equal share."""
    private, public = release.scheme.images_per_row
    labelled = release.encoded.labels.shape[1] > 0
    return classes.weights if labelled else classes.weights * (private / (private + public))
