"""Hiding: how releases are made. A new mechanism is one file in encoders/; a scheme of it is one line here."""

from hideseek.hide.encoders.augmented import Augmented
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.encoders.coarse import Coarse
from hideseek.hide.encoders.gaussian_mixup import GaussianMixup
from hideseek.hide.encoders.instahide import InstaHide, PairInstaHide
from hideseek.hide.encoders.laplace import Laplace
from hideseek.hide.encoders.mixup import Mixup
from hideseek.hide.encoders.singularized_mixup import SingularizedMixup
from hideseek.hide.mixing.geometry import Geometry

ENCODERS: dict[str, RecipeEncoder] = {
    "mixup": Mixup(),
    "mixup-cross": Mixup(k=4, k_private=1),  # InstaHide §2.2: one private image among public ones
    "instahide-inside": InstaHide(k=4),
    "instahide-cross": InstaHide(k=4, k_private=2),
    "instahide-pair": PairInstaHide(),
    "laplace": Laplace(),
    "singularized-mixup": SingularizedMixup(),
    "gaussian-mixup": GaussianMixup(),
    # "Evaluating gradient inversion attacks and defenses" (Huang et al. 2021), A.3: the same mechanisms, its settings.
    # Its InstaHide with k = 4 equals instahide-inside, and the list of schemes says so.
    "intra-instahide": InstaHide(k=4, largest=0.65),
    "intra-instahide-6": InstaHide(k=6, largest=0.65),
    "intra-mixup": Mixup(k=4, largest=0.65),
    "intra-mixup-6": Mixup(k=6, largest=0.65),
}

__all__ = [
    "ENCODERS",
    "Augmented",
    "Coarse",
    "GaussianMixup",
    "Geometry",
    "InstaHide",
    "Laplace",
    "Mixup",
    "PairInstaHide",
    "RecipeEncoder",
    "SingularizedMixup",
]
