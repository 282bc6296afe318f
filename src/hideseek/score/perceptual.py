"""How different a guess looks from the ground truth, by LPIPS."""

import os
from functools import lru_cache, partial
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.device import device
from hideseek.errors import BadInput
from hideseek.models.lpips import SMALLEST, Backbone, Lpips, enlarged, load_lpips
from hideseek.records import Reconstruction
from hideseek.records.result import Note, NoteKind
from hideseek.records.secret import Secret
from hideseek.score.ground_truth import subjects
from hideseek.score.image_scores import best, must_be_pictures
from hideseek.score.metric import Metric, Scores

PATIENCE = {"alex": 1000, "vgg": 50}  # comparisons that nobody minds; the baselines need four times as many more
MULTIPLICATIONS = {"alex": 13_000, "vgg": 305_000}  # for a pixel, in convolutions
COMPARED = 9  # guesses, and those of baselines, each with a private image
_MAPS = 64  # of VGG's first layers: what a pixel becomes


def lpips(backbone: Backbone, claim: Reconstruction, secret: Secret) -> Scores:
    """Compare raw pixels, clamped to [0, 1] and mapped to [−1, 1], enlarged where the network would not see them."""
    must_be_pictures(secret.private)
    channels, *sides = secret.private.shape
    if channels not in (1, 3):
        raise BadInput(f"it is for grey and RGB images, and these have {channels} channels.")
    network = _network(backbone, os.environ.get("HIDESEEK_DATA", ""))

    def compare(truth: Float[Tensor, "b c h w"], guess: Float[Tensor, "b c h w"]) -> Scores:
        x, y = (enlarged(raw.clamp(0, 1) * 2 - 1).to(device()) for raw in (truth, guess))
        with torch.no_grad():
            scores: Tensor = network(x, y)
        return scores

    factor = max(1.0, SMALLEST / min(sides))
    with torch.inference_mode():
        found = best(
            claim, secret, compare, higher=False, raw=True, each=int(_MAPS * 3 * factor**2 * sides[0] * sides[1])
        )
    return found.clone()


@lru_cache(maxsize=2)
def _network(backbone: Backbone, folder: str) -> Lpips:
    """Load a network once; `folder` is where its weights are looked for first, and another may have others."""
    return load_lpips(backbone).to(device())


def _work(backbone: Backbone, guesses: int, shape: tuple[int, int, int]) -> float:
    """Count the multiplications of what is compared without being asked for, beside its baselines.

    That is of some guesses at most: of more, nothing is compared, but an attack may make fewer than there could be.
    """
    if device().type == "cpu":
        guesses = min(guesses, PATIENCE[backbone])
    if not _is_here(backbone) or shape[1:] == (1, 1) or shape[0] not in (1, 3):
        return 0.0
    height, width = (max(side, SMALLEST) for side in shape[1:])
    return 2.0 * COMPARED * guesses * height * width * MULTIPLICATIONS[backbone]


def _is_here(backbone: str) -> bool:
    """Tell whether the weights are on this machine."""
    given = Path(os.environ.get("HIDESEEK_DATA", "")).expanduser() / f"lpips_{backbone}.npz"
    heads = Path(torch.hub.get_dir()) / "checkpoints" / f"{backbone}.pth"  # the last that is fetched
    return given.is_file() or heads.is_file()


def _skip_unless_named(backbone: Backbone, claim: Reconstruction, secret: Secret) -> str:
    """Say how to get the weights, where they are not on this machine, or that it takes long without a GPU."""
    if not _is_here(backbone):
        size = {"alex": 230, "vgg": 530}[backbone]
        return f"its weights, {size} MB, are not on this machine: ask for lpips-{backbone} by name to fetch them."
    comparisons = claim.images.shape[0] * (secret.holds(claim.about[:1].long()).shape[1] if claim.of == "items" else 1)
    if device().type == "cpu" and comparisons > PATIENCE[backbone]:
        return (
            f"it takes long for {comparisons:,} comparisons on a processor: ask for lpips-{backbone} by name to run it."
        )
    return ""


def _note(claim: Reconstruction, secret: Secret) -> Note | None:
    shorter = min(secret.private.shape[1:])
    return Note(NoteKind.ENLARGED, shorter, SMALLEST) if shorter < SMALLEST else None


def _metric(backbone: Backbone, seen_by: str) -> Metric:
    meaning = f"perceptual distance, as {seen_by} sees raw pixels"
    return Metric(
        partial(lpips, backbone),
        subjects,
        False,
        "",
        meaning,
        note=_note,
        skip_unless_named=partial(_skip_unless_named, backbone),
        work=partial(_work, backbone),
    )


METRICS = {"lpips-alex": _metric("alex", "AlexNet"), "lpips-vgg": _metric("vgg", "VGG")}
