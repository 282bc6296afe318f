"""The input of a convolution behind which a ReLU and a max-pooling follow, of one image, from its gradient.

∂L/∂W_ock = Σ_p δ_op h_c,p+k, where δ is known for every window of the pooling, but not for which of its places. So a
matrix is to be factored into a sparse one, whose entries are known but for their places, and the patches of h. Soft
choices of places lead near to it (expectation and maximisation, under a falling error); then hard ones, with rows
weighed by one over the square of their residual: an output channel whose places are all right fits exactly, and some
channels are enough for h, which tells the places of all others. A gradient that is met everywhere certifies it.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from hideseek.seek.systems.convolution_inputs import Known, Solved
from hideseek.seek.systems.convolution_maps import correlations, padding_of, patch_options

SOFT = ((30, 0.9), (80, 0.95))  # steps of soft choices, and what the assumed square of errors is multiplied by in each
HARD, AGAIN = 25, 3  # steps of hard choices, and solves with new weights in each
FLOORS = (1e-12, 1e-5, 1e-12, 1e-4, 1e-12)  # of squares: rows that miss more tell what exact rows do not see
EXACT = 1e-4  # of a row's gradient: what is missed of it where all of its choices are right
NOTHING = 1e-6  # of the largest value: what a ReLU lets through is more
FITS = 1e-3  # of the whole gradient: what may be missed in the end
ALIKE = 1e-4  # of the largest output: two places of a window that are not told apart by it
NOISE = 1e-5  # of the largest value: less than that is a ReLU that is off
RIDGE = 1e-2  # of the mean diagonal: how much the last h counts, while choices are soft


def pooled_input(
    layer: nn.Conv2d, pool: nn.MaxPool2d, gradient: Tensor, known: Known, start: Float[Tensor, "1 c h w"]
) -> tuple[Solved, Tensor] | None:
    """Give the input, and δ at the output, from a start, such as the input of a grey image; None: it is not found.

    Wants twice as many equations as unknowns, of one image.
    """
    equations = len(gradient) * layer.weight[0, 0].numel()
    odd = isinstance(layer.padding, str) or layer.groups > 1 or known.values is None
    if len(known.delta) > 1 or odd or equations < 2 * start[0, 0].numel():
        return None
    return _PooledInput(layer, pool, gradient, known, start.shape[1:]).solve(start[0])


class _PooledInput:
    """One such layer: what is known behind it, and its gradient."""

    def __init__(self, layer: nn.Conv2d, pool: nn.MaxPool2d, gradient: Tensor, known: Known, size: torch.Size) -> None:
        self.layer, self.size, self.gradient = layer, size, gradient
        channels = len(gradient)
        self.weight = layer.weight.detach().double()
        self.bias = torch.zeros(channels).to(self.weight) if layer.bias is None else layer.bias.detach().double()
        self.maps = self._convolved(torch.zeros(size).to(self.weight)).shape[1:]
        places = torch.arange(self.maps.numel()).view(1, 1, *self.maps).double()
        self.windows = functional.unfold(places, pool.kernel_size, stride=pool.stride)[0].T.long()  # windows × places
        values = known.values if known.values is not None else known.delta
        self.pooled = values[0].flatten(1)[..., None]
        self.delta = (known.delta[0] * (values[0] > NOTHING * values.max())).flatten(1)  # channels × windows
        self.rows = gradient.flatten(1)
        lengths = self.rows.norm(dim=1)
        self.lengths, self.alive = lengths.clamp_min(1e-6 * lengths.max()), lengths > 1e-6 * lengths.max()

    def solve(self, start: Float[Tensor, "c h w"]) -> tuple[Solved, Tensor] | None:
        """Give the input, and δ at the output, from some image's input; None where it is not found."""
        for steps, cooled in SOFT:
            found = self._softly(start, steps, cooled)
            for _ in range(HARD):
                found, missed = self._hardly(found)
                if float(missed[self.alive].median()) < EXACT:
                    break
            for floor in FLOORS:
                found, _ = self._hardly(found, floor)
                if (certified := self._certified(found)) is not None:
                    return certified
        return None

    def _certified(self, found: Tensor) -> tuple[Solved, Tensor] | None:
        """Choose places by the outputs, and by the gradient where outputs are nearly alike; keep what fits."""
        outputs = self._outputs(found)
        most, places = outputs.max(2, keepdim=True)
        delta = self._spread(functional.one_hot(places[..., 0], outputs.shape[2]).double())
        others = torch.where(outputs >= most - ALIKE * most.abs().max(), 0.0, 1e6)
        for _ in range(2):
            self._chosen(found, delta, others, 1e-12 * float(self.rows.square().mean()))
        again = self._gradient(found, delta)
        if float((again - self.rows).norm()) > FITS * float(self.rows.norm()):
            return None
        found = torch.where(found > NOISE * found.max(), found, 0.0)
        return Solved(found[None], torch.ones(1, dtype=torch.bool)), delta.view(1, -1, *self.maps)

    def _outputs(self, found: Tensor) -> Float[Tensor, "o windows places"]:
        """Convolve, and sort by windows."""
        return self._convolved(found).flatten(1)[:, self.windows]

    def _convolved(self, found: Tensor) -> Tensor:
        options = (self.layer.stride, padding_of(self.layer), self.layer.dilation)
        return functional.conv2d(found[None], self.weight, self.bias, *options)[0]

    def _patches(self, found: Tensor) -> Float[Tensor, "ck p"]:
        return functional.unfold(found[None], *patch_options(self.layer))[0]

    def _spread(self, choices: Float[Tensor, "o windows places"]) -> Float[Tensor, "o p"]:
        """Give δ at each place, for soft or hard choices."""
        found = self.rows.new_zeros(len(self.rows), self.maps.numel())
        found[:, self.windows.flatten()] = (choices * self.delta[..., None]).flatten(1)
        return found

    def _gradient(self, found: Tensor, delta: Tensor) -> Float[Tensor, "o ck"]:
        return delta @ self._patches(found).T

    def _right(self) -> Float[Tensor, "ok c"]:
        """Give the gradient as the right side of equations that all input channels share."""
        return self.gradient.flatten(2).transpose(1, 2).flatten(0, 1)

    def _softly(self, found: Tensor, steps: int, cooled: float) -> Tensor:
        outputs = self._outputs(found)
        error = (outputs.max(2).values - self.pooled[..., 0]).square().mean()
        choices = (-(outputs - self.pooled).square() / (2 * error)).softmax(2)
        assumed = 0.0
        for step in range(steps):
            delta = self._spread(choices)
            matrix = correlations(self.layer, delta.view(1, -1, *self.maps), self.size)
            spread = self._spread(choices * self.delta[..., None]) - delta.square()  # the variance of δ
            apart = correlations(self.layer, spread.sum(0).view(1, 1, *self.maps), self.size).sum(0)
            normal = matrix.T @ matrix + torch.diag(apart)
            ridge = RIDGE * float(normal.diagonal().mean())
            normal.diagonal().add_(ridge)
            flat = torch.linalg.solve(normal, matrix.T @ self._right() + ridge * found.flatten(1).T)
            found = flat.T.reshape(found.shape).clamp_min(0)
            missed = float((matrix @ found.flatten(1).T - self._right()).square().mean())
            assumed = missed if not step else min(cooled * assumed, missed if step > 5 else assumed)
            apart = self._outputs(found) - self.pooled
            error = (choices * apart.square())[self.delta != 0].sum(1).mean().clamp_min(1e-300)
            above = apart.clamp_min(0).square()
            costs = (apart.square() + above.sum(2, keepdim=True) - above) / (2 * error)
            choices = self._chosen(found, delta, costs, assumed)
        return found

    def _chosen(self, found: Tensor, delta: Tensor, costs: Tensor | None, assumed: float) -> Tensor:
        """Choose places of every window in turn, softly where an error is assumed, for the gradient of each channel."""
        patches = self._patches(found)
        gram, linear = patches.T @ patches, self.rows @ patches
        chosen = []
        for number, places in enumerate(self.windows):
            delta[:, places] = 0
            here = self.delta[:, number, None]
            cost = here.square() * gram[places, places] - 2 * here * (linear[:, places] - delta @ gram[:, places])
            if costs is None:
                choice = functional.one_hot(cost.argmin(1), len(places)).double()
            else:
                choice = (-cost / (2 * assumed) - costs[:, number]).softmax(1)
            delta[:, places] = choice * here
            chosen.append(choice)
        return torch.stack(chosen, 1)

    def _hardly(self, found: Tensor, floor: float = 1e-12) -> tuple[Tensor, Tensor]:
        nearest = (self._outputs(found) - self.pooled).abs().argmin(2)
        delta = self._spread(functional.one_hot(nearest, self.windows.shape[1]).double())
        self._chosen(found, delta, None, 0.0)
        self._chosen(found, delta, None, 0.0)
        matrix = correlations(self.layer, delta.view(1, -1, *self.maps), self.size).view(
            len(self.rows), -1, found[0].numel()
        )
        right = self._right().view(*matrix.shape[:2], -1)
        for _ in range(AGAIN):
            missed = (self._gradient(found, delta) - self.rows).norm(dim=1) / self.lengths
            weights = self.alive / (missed.square() + floor) / self.lengths.square()
            weighed = (matrix * (weights / weights.max())[:, None, None]).flatten(0, 1)
            normal = weighed.T @ matrix.flatten(0, 1)
            normal.diagonal().add_(1e-10 * float(normal.diagonal().mean()))
            found = torch.linalg.solve(normal, weighed.T @ right.flatten(0, 1)).T.reshape(found.shape).clamp_min(0)
        return found, (self._gradient(found, delta) - self.rows).norm(dim=1) / self.lengths
