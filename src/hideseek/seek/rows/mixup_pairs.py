"""Finding the rows that share an image, and averaging them (InstaHide §2.1)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction, Refusal, Task
from hideseek.seek.refusals import check_spread, without_pairs
from hideseek.seek.run import check
from hideseek.seek.signals.links import RowClasses, links, links_work, noise_deviation, unsigned_rows, white_rows
from hideseek.seek.systems.unmixing import unmix, unmix_work
from hideseek.seek.work import TOUCH, largest

TOGETHER = 256  # groups that grow at the same time
CHUNK = 1024  # rows whose products with all others tell how far products scatter
SAME = 0.5  # correlation of two groups' averages, made white, from which they are of one image
MOST_WEIGHTS = 1 << 27  # numbers, that mixtures are taken apart by
LINKED = 50  # rows whose similarity to all others is kept as evidence
LEAST_SEEDS = 64  # groups that are worth growing
LEAST_STEPS = 2  # of taking apart, that are worth beginning
_NOISE = 4.0  # deviations above which two rows are taken to share an image


@dataclass(frozen=True)
class MixupPairs(Attack[EncodedRelease]):
    """Tell by inner products which rows share an image, and average each group to an estimate of it.

    InstaHide §2.1: ⟨x̃_1, x̃_2⟩ is about 0 for rows without a common image, and λ_1 λ_2 ‖x‖² for rows with one. From
    many rows a group is grown, by always adding the row whose least inner product with the members is largest: rows
    that all share one image, while the others in them differ and average out.

    Deviation: images are made white first, since photographs are correlated; and the averages are only where we begin:
    with a few rounds, the mixtures are as many equations as there are unknowns, and `unmix` solves them.
    Labels help: rows of a group have the class of the image that is heaviest in the first of them, they count by the
    weight that an image of this class has in them, and pairs are scored by `links`. Under a mask, squares take the
    place of the rows, the guess is the root of their average, and nothing is solved.
    """

    sees: ClassVar = EncodedRelease
    source: ClassVar = "InstaHide §2.1; the use of labels and the last step are ours"

    members: int = 20
    """Rows of a group, at most."""
    seeds: int = 30
    """Groups that are grown for every private image; the tightest distinct ones are kept."""
    most_seeds: int = 3000
    """Groups at most, of a large release: each costs a product with all rows for every member."""
    steps: int = 8
    """Of taking the mixtures apart, from the averages; 0 leaves the averages."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Compare, group, average, take apart."""
        if self.members < 2 or min(self.seeds, self.most_seeds) < 1 or self.steps < 0:
            raise BadInput("a group needs two rows or more, and an image one seed or more.")
        check(self, release)
        rows, masked, classes = unsigned_rows(release), release.scheme.masked, RowClasses.of(release)
        count = len(rows) // release.rounds  # private images
        mean = rows.mean(0)
        centred = rows - mean
        check_spread(centred)
        white = white_rows(centred)
        unit = functional.normalize(white)
        seeds = chance.permutation(len(rows))[: min(self.seeds * count, self.most_seeds)]
        noise = noise_deviation(unit[seeds[:CHUNK]] @ unit.T)
        members, tight = _grow(unit, classes, seeds, self.members, _NOISE * noise)
        weights = classes.weights[members, classes.heaviest(seeds)[:, None]] * (members >= 0)
        averages = _average(white, members, weights)
        chosen = _distinct(averages, tight, count)
        guesses = _average(centred.flatten(1), members[chosen], weights[chosen])
        remarks = {"groups": len(chosen), "rows of a group": float((members[chosen] >= 0).sum(1).float().mean())}
        private, public = release.scheme.images_per_row
        solvable = not masked and not public and 1 < len(chosen) <= MOST_WEIGHTS // len(rows)
        if self.steps and solvable:
            guesses, left = unmix(centred.flatten(1), white, averages[chosen], private, self.steps)
            remarks["unexplained"] = left
        images = guesses.view(-1, *mean.shape) + mean
        images = images.clamp_min(0).sqrt() if masked else images
        claim = Reconstruction(images, seeds[chosen], "any", groups=members[chosen])
        return Evidence((claim, links(unit, release, seeds[:LINKED])), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse a release in which no two rows share a private image."""
        return without_pairs(release)

    def work(self, task: Task) -> float:
        """Count a product with all rows for each member of every group, and every row in each step of taking apart."""
        seeds = min(self.seeds * task.images, self.most_seeds, task.items)
        work = float(seeds) * self.members * task.items * (task.pixels + 5 * TOUCH)
        work += 3 * (10 * task.items + seeds * self.members) * task.pixels * TOUCH
        work += links_work(min(LINKED, seeds), task.items, task.pixels, task.images_per_item)
        groups = min(seeds, task.images)
        if not task.masked and not task.public and groups <= MOST_WEIGHTS // max(1, task.items):
            work += self.steps * unmix_work(task, groups)
        return work

    def within(self, work: float, task: Task) -> Self:
        """Take apart in fewer steps, then grow fewer groups."""
        steps = largest(lambda steps: replace(self, steps=steps).work(task), LEAST_STEPS, self.steps, work)
        fewer = replace(self, steps=steps)
        if fewer.work(task) <= work:
            return fewer
        seeds = largest(lambda seeds: replace(fewer, most_seeds=seeds).work(task), LEAST_SEEDS, self.most_seeds, work)
        return replace(fewer, most_seeds=seeds)


def _grow(
    unit: Float[Tensor, "m pixels"], classes: RowClasses, seeds: Int[Tensor, " seeds"], size: int, least: float
) -> tuple[Int[Tensor, "seeds size"], Float[Tensor, " seeds"]]:
    """Grow a group of one class from every seed; −1 where no row is alike enough. Tell how alike members are, too."""
    groups, tightness = [], []
    for part in track(seeds.split(TOGETHER), "growing groups"):
        place = torch.arange(len(part))
        members = part.new_full((len(part), size), -1)
        members[:, 0] = part
        lowest = (unit[part] @ unit.T).masked_fill(~classes.having(classes.heaviest(part)), -torch.inf)
        lowest[place, part] = -torch.inf
        tight = torch.zeros(len(part))
        for nth in range(1, size):
            value, row = lowest.max(1)
            grows = value > least
            members[:, nth] = torch.where(grows, row, -1)
            tight += torch.where(grows, value, 0.0)
            lowest = torch.where(grows[:, None], torch.minimum(lowest, unit[row] @ unit.T), lowest)
            lowest[place, row] = -torch.inf
        groups.append(members)
        tightness.append(tight)
    return torch.cat(groups), torch.cat(tightness)


def _average(
    rows: Float[Tensor, "m pixels"], members: Int[Tensor, "groups size"], weights: Float[Tensor, "groups size"]
) -> Float[Tensor, "groups pixels"]:
    """Give Σ_r λ_r x̃_r / Σ_r λ_r over the members of each group; weights are 0 where there is none."""
    share = functional.normalize(weights, p=1)
    return torch.stack([each @ rows[group] for each, group in zip(share, members, strict=True)])


def _distinct(
    averages: Float[Tensor, "groups pixels"], tight: Float[Tensor, " groups"], count: int
) -> Int[Tensor, " kept"]:
    """Choose groups of different images, the tightest first."""
    unit = functional.normalize(averages)
    same = unit @ unit.T >= SAME
    kept: list[int] = []
    for group in tight.argsort(descending=True).tolist():
        if len(kept) < count and not same[group, kept].any():
            kept.append(group)
    return torch.tensor(kept)
