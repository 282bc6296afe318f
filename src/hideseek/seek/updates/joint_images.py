"""Images that all updates share: the private images themselves are sought, by every update that holds them."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.device import device
from hideseek.progress import track
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.gradient_distance import Cosine, Squared
from hideseek.seek.systems.image_starts import pixel_limits
from hideseek.seek.systems.image_total_variation import total_variation
from hideseek.seek.systems.matching_objective import Objective
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.update_views import OneGradient
from hideseek.seek.updates.update_comparison import comparison_with
from hideseek.train.gradients import parameters_of

START = 0.1  # the deviation of pixels at the beginning
LAST = 1e-3  # of the rate, at the end


@dataclass(frozen=True)
class JointImages:
    """Match the gradients of all updates by one set of images, where rows are known sums of them.

    min over X of Σ_u D(g(A_u X, y_u), ĝ_u) + α TV(X), where row r of an update is Σ_j λ_rj x_{s_rj}. Every update has
    rows of its own, but over T rounds the images are the same, and T times as many numbers tell of them. Each step is
    by one update, in an order that is drawn anew in every epoch, by the signs of the slopes, as Adam takes them.
    """

    epochs: int = 40
    """How often every update is seen."""
    rate: float = 0.1
    """Of Adam; it falls to nothing."""
    total_variation: float = 3e-3
    """α."""
    distance: Cosine | Squared = field(default_factory=lambda: Cosine(balance=0.5))
    """How gradients are compared."""

    def images(self, release: UpdateRelease, count: int, chance: Randomness) -> Float[Tensor, "n c h w"]:
        """Seek the images of a release whose sources, weights and labels are known, and whose rows have no mask."""
        assert release.sources and release.weights and release.labels  # noqa: S101, PT018 (`needs`)
        views: list[OneGradient] = []
        for model in release.models:
            network = model.network().to(device()).train(release.scheme.mode == "train")
            views.append(OneGradient(network, parameters_of(network)))
        objectives, mixtures = [], []
        scale = release.scheme.work.rate if release.scheme.sends == "weights" else 1.0
        for number, update in enumerate(release.updates):
            view = views[number if len(views) > 1 else 0]
            gradient = {name: update[name] / scale for name in view.parameters}
            sent = [each.to(device()) for each in gradient.values()]
            comparison = comparison_with(gradient, release.scheme, self.distance, "allowed", sent)
            objectives.append(Objective(view, comparison, Prior(), difference=True))
            weights, sources = release.weights[number], release.sources[number]
            mixtures.append(Mixtures(sources.to(device()), weights.float().contiguous().to(device()), count))
        found = (START * chance.normals(count, *release.shape)).to(device())
        limits = pixel_limits(release.normalisation, release.shape)
        optimiser = torch.optim.Adam([found], lr=self.rate, betas=(0.9, 0.99))
        steps = self.epochs * len(objectives)
        order = torch.cat([chance.permutation(len(objectives)) for _ in range(self.epochs)])
        for step, number in enumerate(track(order.tolist(), "matching all updates")):
            objective, mixture = objectives[number], mixtures[number]
            if len(views) == 1:
                objective._passes = objectives[order[0]]._passes  # two copies of the network serve all updates
            rows = mixture.mixed(found.flatten(1)).view(-1, *release.shape).requires_grad_()
            here = objective(rows, None, release.labels[number].to(device()))
            slope = mixture.gathered(here.derivatives[0].flatten(1)).view_as(found)
            slope += self.total_variation * total_variation(found, masked=False)[1]
            found.grad = slope.nan_to_num().sign_()
            optimiser.param_groups[0]["lr"] = self.rate * max(LAST, 1 - step / steps)
            optimiser.step()
            if limits is not None:
                found.clamp_(limits[0].to(found), limits[1].to(found))
        return found.detach().cpu()
