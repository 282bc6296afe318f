"""Sparse vectors of a subspace, guided by a guess where their zeros are: what a ReLU leaves of a batch.

A = Q R holds a sum of rank-one parts, A = Σ_i δ_i x̃_i', one for each image, with δ_i = Q a_i and x̃_i = R' c_i, so
that a_i · c_k = 1 where i = k, else 0. A ReLU makes δ_i exactly 0 at every neuron j with z_j = (M c_i)_j < 0, about
half of them; M = W̃ R'. Searching subsets of neurons at random for one that an image leaves silent takes 2^(B − 1)
trials (SPEAR: Dimitrov et al. 2024). Here a guess u of c_i, even one that correlates by one half with it, names some
hundreds of neurons of which most are silent, and
    min_a Σ_j w_j |(Q a)_j|   with a · u = 1
is convex, and exact in spite of the others: reweighted least squares. What is found says where z is positive, which
is a better guess. Images found make the search smaller, since the c of all others are orthogonal to their a.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness

ZERO = 1e-5  # of the largest entry: what counts as zero; float32 leaves a hundredth of that
SILENT = 1e-10  # the least eigenvalue of silent neurons' rows, as a share of the largest: zero but for rounding
SEVERAL = 1e-7  # the next: above this where one image alone is silent at all of them (seen: 4e-5 and more)
MOST_SEVERAL = 6  # images in a sum that is taken apart
ALONE = 0.02  # a row whose leverage is nearer than that to 1 is all that forbids a further vector
SHARED = 1e-5  # the cosine below which a row of a small space is orthogonal to a vector
LIVE = 1e-6  # of the longest row of A: shorter ones are rounding
SPARE = 12  # zeros beyond those that any vector of the subspace can be given: none has them by chance
REWEIGHTED = 15  # steps of reweighted least squares
TURNS = 4  # of solving for a and guessing c again
ROWS = 16  # rows of A that are tried as guesses in a round
CONSIDERED = 0.5  # the share of neurons that are likeliest silent


@dataclass(frozen=True)
class Factors:
    """A = Q R, of the rank that A has, with the layer's weights in the coordinates of R."""

    left: Float[Tensor, "neurons rank"]
    right: Float[Tensor, "rank inputs"]
    layer: Float[Tensor, "neurons rank"]
    coarse: float = 1.0
    """How many times as coarse A is as a gradient in float32: what counts as zero grows with it."""

    @property
    def rank(self) -> int:
        """Count the images, where none is a mixture of others."""
        return len(self.right)


def factors(
    matrix: Float[Tensor, "m d"], layer: Float[Tensor, "m d"], tolerance: float, coarse: float = 1.0
) -> Factors:
    """Factorise a matrix by its singular vectors, those whose values are above a share of the largest.

    Squares of singular values are taken, in double precision: shares down to 1e-7 can be told from rounding.
    """
    values, vectors = torch.linalg.eigh(matrix @ matrix.T)
    kept = (values > max(tolerance**2 * float(values[-1]), 1e-300)).nonzero()[:, 0].flip(0)
    right = torch.linalg.qr((vectors[:, kept].T @ matrix).T)[0]
    return Factors(matrix @ right, right.T, layer @ right, coarse)


def sparse_directions(
    parts: Factors, chance: Randomness, rounds: int, guesses: Float[Tensor, "n rank"] | None = None
) -> Float[Tensor, "found rank"]:
    """Give every a that was found, certified by its zeros; `guesses` of c are tried before random ones."""
    norms = parts.left.norm(dim=1)
    live = norms > LIVE * parts.coarse * norms.max()
    rows, layer = parts.left[live] / norms[live, None], parts.layer[live]
    found = torch.zeros(0, parts.rank, dtype=rows.dtype)
    if len(rows) < parts.rank + SPARE:
        return found
    spread = parts.left.square().sum(0).sqrt()
    trials = max(16, min(64, parts.rank))
    fruitless, patience = 0, max(3, parts.rank // 16)
    for _ in range(rounds):
        if len(found) == parts.rank or fruitless == patience:
            break
        before = len(found)
        free = _orthogonal_to(found, parts.rank)
        last = len(found) == parts.rank - 1
        start = [_draw(free, spread, parts.right[:, -1], 1 if last else trials, chance)]
        if not last:
            start.append(_unexplained(parts.left[live], found, ROWS, chance, ZERO * parts.coarse) @ free)
            if guesses is not None:
                start.append(guesses[chance.permutation(len(guesses))[:trials]] @ free)
        for vector in _search(rows, layer, torch.cat(start), free):
            exact = certified(rows, vector, parts.coarse)
            if exact is not None and not _known(rows, exact, found):
                found = torch.cat([found, exact[None]])
        fruitless = fruitless + 1 if len(found) == before else 0
    return found


def _orthogonal_to(found: Tensor, rank: int) -> Tensor:
    """Give the projection onto what is orthogonal to all of them."""
    eye: Tensor = torch.eye(rank, dtype=found.dtype)
    if not len(found):
        return eye
    basis, _ = torch.linalg.qr(found.T)
    free: Tensor = eye - basis @ basis.T
    return free


def _draw(free: Tensor, spread: Tensor, bias: Tensor, count: int, chance: Randomness) -> Tensor:
    """Draw c from the Gaussian that the sizes of A's parts suggest, given that the input of the bias is 1."""
    covariance = free @ torch.diag(spread.square()) @ free
    share = bias @ covariance @ bias
    values, vectors = torch.linalg.eigh(covariance / share.clamp_min(1e-300))
    drawn = chance.normals(count, len(free)).to(free.dtype) * values.clamp_min(0).sqrt() @ vectors.T
    given: Tensor = drawn + (1 - drawn @ bias)[:, None] * (covariance @ bias / share.clamp_min(1e-300))
    return given


def _unexplained(rows: Tensor, found: Tensor, count: int, chance: Randomness, zero: float) -> Tensor:
    """Give some rows of A at neurons that no image found so far excites: where one image is left, they are its c."""
    sizes = (rows @ found.T).abs()
    silent = (sizes <= zero * sizes.amax(0)).all(1) if len(found) else torch.ones(len(rows), dtype=torch.bool)
    some = rows[silent]
    return some[chance.permutation(len(some))[:count]] if len(some) else some


def _search(rows: Tensor, layer: Tensor, start: Tensor, free: Tensor) -> Tensor:
    """Improve guesses of c, each on its own, and give the a of each."""
    single, narrow, guess = rows.float(), layer.float(), start.float()
    keep = min(len(rows), max(round(CONSIDERED * len(rows)), rows.shape[1] + SPARE))
    ridge = narrow.T @ narrow
    ridge += 0.01 * ridge.diagonal().mean() * torch.eye(len(ridge))
    found = torch.zeros_like(guess)
    for turn in range(TURNS):
        active = guess @ narrow.T
        active = active / active.square().mean(1, keepdim=True).sqrt().clamp_min(1e-30)
        lowest, places = active.topk(keep, largest=False)
        silent = torch.sigmoid(-4 * (lowest + 0.8) if turn < TURNS - 1 else -6 * (lowest + 0.4))
        found = torch.stack([_least(single[p], w, u) for p, w, u in zip(places, silent, guess, strict=True)])
        size = (found @ single.T).abs()
        fires = torch.sign(size - size.median(1, keepdim=True).values)
        guess = torch.linalg.solve(ridge, (fires @ narrow).T).T @ free.float()
    return found.to(rows.dtype)


def _least(rows: Tensor, weights: Tensor, guess: Tensor) -> Tensor:
    """Give argmin Σ w |rows a| with a · guess = 1, by reweighted least squares."""
    unit, current, tiny = guess / guess.norm().clamp_min(1e-30), weights, torch.eye(rows.shape[1])
    found: Tensor = unit
    for step in range(REWEIGHTED):
        normal = rows.T @ (current[:, None] * rows)
        normal += 1e-6 * normal.diagonal().mean().clamp_min(1e-30) * tiny
        found = torch.cholesky_solve(unit[:, None], torch.linalg.cholesky_ex(normal)[0])[:, 0]
        found = found / (found @ unit)
        size = (rows @ found).abs()
        current = weights / (size + size.median() * 0.5**step + 1e-6 * size.max())
    return found


def certified(
    rows: Float[Tensor, "neurons rank"], vector: Float[Tensor, " rank"], coarse: float = 1.0
) -> Float[Tensor, " rank"] | None:
    """Give the one vector with the zeros that this one nearly has; None where there are too few, or several vectors.

    A sum of two images' vectors is zero wherever both are silent, and at one neuron more by choice; but then one of
    the two alone has many zeros more, and is taken instead.
    """
    current, zero = vector, ZERO * coarse
    for near in (1e-2, max(1e-3, zero), zero, zero):
        found = _null(rows, current, near, coarse)
        if found is None:
            return None
        space, zeros = found
        sparser = _sparsest(rows, space) if 1 < space.shape[1] <= MOST_SEVERAL else space[:, 0]
        if space.shape[1] == 1 or _zeros(rows, sparser, zero) >= int(zeros.sum()) + SPARE:
            current = sparser
        elif near == zero:
            return None
    found = _null(rows, current, zero, coarse)
    alone = found is not None and found[0].shape[1] == 1
    return current if alone and _zeros(rows, current, zero) >= rows.shape[1] - 1 + SPARE else None


def _zeros(rows: Tensor, vector: Tensor, zero: float) -> int:
    size = (rows @ vector).abs()
    return int((size <= zero * size.max()).sum())


def _null(rows: Tensor, vector: Tensor, near: float, coarse: float) -> tuple[Tensor, Tensor] | None:
    """Give all vectors that vanish at the rows where this one nearly does, at least the likeliest, and these rows."""
    size = (rows @ vector).abs()
    zeros = size <= near * size.max()
    if not bool(size.isfinite().all()) or int(zeros.sum()) < rows.shape[1] - 1:
        return None
    for _ in range(MOST_SEVERAL):
        values, vectors = torch.linalg.eigh(rows[zeros].T @ rows[zeros])
        if near == ZERO * coarse and float(values[0]) > SILENT * coarse**2 * float(values[-1]):
            return None
        several = max(1, int((values <= max(SEVERAL, 10 * SILENT * coarse**2) * values[-1]).sum()))
        leverage = (rows @ vectors[:, several:]).square() @ (1 / values[several:])
        alone = zeros & (leverage > 1 - ALONE)
        if not bool(alone.any()):
            return vectors[:, :several], zeros
        zeros = zeros & ~alone  # zero by choice: a sum of two images can be given one zero, of three two
    return None


def _sparsest(rows: Tensor, space: Tensor) -> Tensor:
    """Give the vector of a small space that vanishes at most rows, among those that some of the rows determine."""
    inside, size = rows @ space, space.shape[1]
    length = inside.norm(dim=1)
    inside = inside[length > SHARED * length.max()]
    inside = inside / inside.norm(dim=1, keepdim=True)
    some = torch.stack([inside.roll(7 * shift * shift + shift, 0) for shift in range(size - 1)], 1)
    tried = torch.linalg.svd(some)[2][:, -1]
    most = ((inside @ tried.T).abs() <= SHARED).sum(0).argmax()
    best: Tensor = space @ tried[most]
    return best


def _known(rows: Tensor, vector: Tensor, found: Tensor) -> bool:
    """Tell whether this a is among those found."""
    if not len(found):
        return False
    sizes = rows @ torch.cat([found, vector[None]]).T
    sizes = sizes / sizes.norm(dim=0)
    return bool((sizes[:, :-1].T @ sizes[:, -1]).abs().max() > 1 - 1e-6)
