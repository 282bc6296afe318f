"""Maps that show the same thing in another place: matched at every shift, mirrored or not, by Fourier transform."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Complex, Float, Int
from scipy.fft import next_fast_len
from torch import Tensor
from torch.nn import functional

from hideseek.seek.work import TOUCH

BLOCK = 1 << 22  # numbers of maps whose correlations are taken together
COVERED = 0.1  # of the usual weight: where less is known of a template, it is drawn towards zero


@dataclass(frozen=True)
class Shifts:
    """All shifts up to `down` and `across` pixels either way, mirrored or not, of maps of one size.

    A map z shows a template t at (dy, dx) if z(y, x) = t(y + dy, ±x + dx), the origin in the middle of both; − where it
    is mirrored.
    """

    height: int
    width: int
    down: int
    across: int
    mirror: bool

    @property
    def ways(self) -> tuple[bool, ...]:
        """Give whether maps are mirrored: not, or both."""
        return (False, True) if self.mirror else (False,)

    @property
    def count(self) -> int:
        """Count all places, of one way after those of the other."""
        return len(self.ways) * (2 * self.down + 1) * (2 * self.across + 1)

    @cached_property
    def _size(self) -> tuple[int, int]:
        """Give the size of transforms: with room for shifts, so that nothing comes round the other side."""
        return next_fast_len(self.height + self.down, real=True), next_fast_len(self.width + self.across, real=True)

    @cached_property
    def shares(self) -> Float[Tensor, " count"]:
        """Give the share of the picture in which a map and a template overlap, for every shift."""
        down = 1 - torch.arange(-self.down, self.down + 1).abs() / self.height
        across = 1 - torch.arange(-self.across, self.across + 1).abs() / self.width
        return (down[:, None] * across).flatten().repeat(len(self.ways))

    def spectra(self, images: Float[Tensor, "n c h w"], *, turned: bool = False) -> Complex[Tensor, "n c f g"]:
        """Give the Fourier transforms of templates, or of maps, turned round or not."""
        found: Tensor = torch.fft.rfft2(images.flip(3) if turned else images, s=self._size)
        return found

    def correlations(
        self, template: Complex[Tensor, "c f g"], maps: list[Complex[Tensor, "n c f g"]]
    ) -> Float[Tensor, "n count"]:
        """Give Σ_q z(q) t(q + s) for all shifts s, from the spectra of maps, one for each way."""
        parts = []
        for spectra in maps:
            near = torch.fft.irfft2((spectra.conj() * template).sum(1), s=self._size)
            rows = torch.cat([near[:, near.shape[1] - self.down :], near[:, : self.down + 1]], 1)
            parts.append(torch.cat([rows[..., rows.shape[2] - self.across :], rows[..., : self.across + 1]], 2))
        return torch.cat([part.flatten(1) for part in parts], 1)

    def moves(self, places: Int[Tensor, "*any"]) -> Float[Tensor, "*any 2 3"]:
        """Give the affine maps that move a template to where it is in a map; in [−1, 1], x first, as for images."""
        high, wide = 2 * self.down + 1, 2 * self.across + 1
        inside = places % (high * wide)
        found = torch.zeros(*places.shape, 2, 3)
        found[..., 0, 0] = torch.where(places >= high * wide, -1.0, 1.0)
        found[..., 1, 1] = 1.0
        found[..., 0, 2] = (inside % wide - self.across) * (2 / self.width)
        found[..., 1, 2] = (inside // wide - self.down) * (2 / self.height)
        return found


@dataclass(frozen=True)
class Matches:
    """How well every map matches every template at the best of all places, and how a template is moved there."""

    scores: Float[Tensor, "templates maps"]
    moves: Float[Tensor, "templates maps 2 3"]


def matches(templates: Float[Tensor, "a c h w"], maps: Float[Tensor, "b c h w"], shifts: Shifts) -> Matches:
    """Match every map with every template.

    The score is Σ_q z(q) t(q + s) / (‖z‖ ‖t‖ √share): of unrelated white maps it scatters alike at every shift.
    """
    there = shifts.spectra(functional.normalize(templates.flatten(1)).view_as(templates))
    unit = functional.normalize(maps.flatten(1)).view_as(maps)
    scores = torch.empty(len(templates), len(maps))
    places = torch.empty(len(templates), len(maps), dtype=torch.int64)
    step = max(1, BLOCK // max(1, maps[0].numel())) if len(maps) else 1
    for first in range(0, len(maps), step):
        part = slice(first, first + step)
        spectra = [shifts.spectra(unit[part], turned=turned) for turned in shifts.ways]
        for number, template in enumerate(there):
            found = shifts.correlations(template, spectra) / shifts.shares.sqrt()
            scores[number, part], places[number, part] = found.max(1)
    return Matches(scores, shifts.moves(places))


def inverse(moves: Float[Tensor, "*any 2 3"]) -> Float[Tensor, "*any 2 3"]:
    """Give the affine maps that undo shifts and mirrors: p = ±(u − s)."""
    turn = moves[..., :2]  # diagonal, and its own inverse
    return torch.cat([turn, -(turn @ moves[..., 2:])], -1)


def weighted_mean(
    maps: Float[Tensor, "n c h w"], moves: Float[Tensor, "n 2 3"], weights: Float[Tensor, " n"]
) -> Float[Tensor, "c h w"]:
    """Give the mean of maps in the place of their template, over those that are there; zero where none is."""
    grid = functional.affine_grid(inverse(moves), list(maps.shape), align_corners=False)
    ones = maps.new_ones(len(maps), 1, *maps.shape[2:])
    placed = functional.grid_sample(torch.cat([maps, ones], 1), grid, padding_mode="zeros", align_corners=False)
    sums = (weights[:, None, None, None] * placed).sum(0)
    return sums[:-1] / sums[-1:].clamp_min(COVERED * float(weights.sum()) + 1e-30)


def matches_work(templates: float, maps: float, pixels: int) -> float:
    """Count what is done for every pair: transforms twice as large as the maps, both ways, some twelve passes each."""
    return 2.0 * 2 * 12 * templates * maps * pixels * TOUCH / 3
