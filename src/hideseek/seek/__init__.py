"""Seeking: what can still be found in a release. A new attack is one file and one line here.

`ATTACKS` are run unless told otherwise; `VARIANTS` are other ways of some of them, and attacks on
others' mistakes, to be asked for by name.
"""

from dataclasses import replace
from typing import Any

from hideseek.records import Attack
from hideseek.seek.describe import describe, settings
from hideseek.seek.members.equal_length import EqualLength
from hideseek.seek.members.likelihood_ratio import LikelihoodRatio
from hideseek.seek.members.lira import Lira
from hideseek.seek.members.rmia import Rmia
from hideseek.seek.networks.learned_search import Learned
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.networks.wide_comparer import WideResNet
from hideseek.seek.rows.averaging import AverageKnown, AverageSearch
from hideseek.seek.rows.braverman import Braverman
from hideseek.seek.rows.byte_decoding import ByteDecoding
from hideseek.seek.rows.carlini import Carlini
from hideseek.seek.rows.chen import Chen
from hideseek.seek.rows.demask import Demask
from hideseek.seek.rows.distinguish import Distinguish
from hideseek.seek.rows.generator import Generator
from hideseek.seek.rows.learned_decoder import LearnedDecoder
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.link_and_solve import LinkAndSolve
from hideseek.seek.rows.link_shifted import LinkShifted
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.phase_retrieval import PhaseRetrieval
from hideseek.seek.rows.public_search import PublicSearch
from hideseek.seek.rows.smooth_signs import SmoothSigns
from hideseek.seek.rows.unmask_public import UnmaskPublic
from hideseek.seek.rows.unmix_repeats import UnmixRepeats
from hideseek.seek.run import refusal, run
from hideseek.seek.signals.plain_products import PlainProducts
from hideseek.seek.signals.ssim_search import Ssim
from hideseek.seek.systems.gradient_distance import Cosine, Squared
from hideseek.seek.systems.image_starts import Start
from hideseek.seek.systems.matching_loop import Adam, Lbfgs
from hideseek.seek.systems.matching_prior import Prior
from hideseek.seek.systems.own_images import OwnImages
from hideseek.seek.updates.decode import DecodeKnown, DecodeUpdates
from hideseek.seek.updates.first_layer import FirstLayer
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.imprint import CraftedImprint, Imprint
from hideseek.seek.updates.labels_from_gradient import LabelsFromGradient
from hideseek.seek.updates.learned_inversion import LearnedInversion
from hideseek.seek.updates.tuned_matching import TunedMatching

AS_PRINTED = GradientMatching(
    Cosine(),
    Prior(),
    prior_growth=0.0,
    smooth=None,
    peel=0,
    statistics="none",
    aim="norms",
    statistics_weight=1e-3,
    train_mode=None,
    compares="as-sent",
)
SURVIVING = replace(AS_PRINTED, compares="surviving")
BY_OWN_IMAGES = GradientMatching(Cosine(0.5), Prior(), Lbfgs(200), smooth=None, own=OwnImages())

ATTACKS: dict[str, Attack[Any]] = {
    # InstaHide (Huang et al. 2020)
    "mixup-pairs": MixupPairs(),
    "mixup-public": MixupPublic(),
    "braverman": Braverman(),
    "demask": Demask(),
    "average-known": AverageKnown(),
    "average-search": AverageSearch(),
    "public-search": PublicSearch(),
    "distinguish": Distinguish(),
    # Carlini et al. 2021
    "carlini": Carlini(),
    # Chen et al. 2021
    "chen": Chen(),
    # hideseek
    "byte-decoding": ByteDecoding(),
    "unmask-public": UnmaskPublic(),
    "smooth-signs": SmoothSigns(),
    "link-shifted": LinkShifted(),
    "phase-retrieval": PhaseRetrieval(),
    "link-and-solve": LinkAndSolve(),
    # Singularized Mixup
    "linear-inversion": LinearInversion(),
    "linear-optimum": LinearInversion(prior="public"),
    # who is a member: candidates are images that the attacker has
    "equal-length": EqualLength(),
    "likelihood-ratio": LikelihoodRatio(),
    # updates of a model
    "first-layer": FirstLayer(),
    "gradient-matching": GradientMatching(),
    "gradient-matching-known": GradientMatching(labels="known", statistics="exact"),
    "gradient-matching-own": BY_OWN_IMAGES,
    "learned-inversion": LearnedInversion(),
    "labels-from-gradient": LabelsFromGradient(),
    "decode-known": DecodeKnown(LinearInversion(), PhaseRetrieval()),
    "decode-blind": DecodeUpdates(MixupPairs(), LinkAndSolve()),
    "imprint": Imprint(),
    "imprint-crafted": CraftedImprint(),
}

VARIANTS: dict[str, Attack[Any]] = {
    # InstaHide (Huang et al. 2020), as printed
    "average-known-demasked": AverageKnown(signs=RestoreSigns()),
    "average-search-demasked": AverageSearch(signs=RestoreSigns()),
    "public-search-plain": PublicSearch(PlainProducts()),
    "public-search-ssim": PublicSearch(Ssim()),
    "public-search-ssim-demasked": PublicSearch(Ssim(), RestoreSigns()),
    "public-search-learned": PublicSearch(Learned()),
    # Carlini et al. 2021, with the published network: for a GPU
    "carlini-wide": Carlini(steps=20_000, wide=WideResNet()),
    # white products of restored rows
    "public-search-demasked": PublicSearch(signs=RestoreSigns()),
    # a mistake that hideseek does not make: masks of a generator whose seed has 32 bits
    "generator": Generator(),
    # another: the same pairs in the same order in every round, as in the published code of Singularized Mixup
    "unmix-repeats": UnmixRepeats(),
    # Singularized Mixup's nonlinear attack, which trains a network; its linear optimum with weights read from labels
    "learned-decoder": LearnedDecoder(),
    "linear-optimum-labels": LinearInversion(prior="public", weights="labels"),
    # gradient matching, as printed: Zhu et al. 2019, Zhao et al. 2020, Geiping et al. 2020, Yin et al. 2021
    "dlg": replace(AS_PRINTED, distance=Squared(), optimiser=Lbfgs(300, line_search=False), labels="joint"),
    "idlg": replace(AS_PRINTED, distance=Squared(), optimiser=Lbfgs(300, line_search=False)),
    "geiping2020": replace(AS_PRINTED, prior=Prior(1e-1), optimiser=Adam(4800)),
    "gradinversion": replace(
        AS_PRINTED,
        distance=Squared(),
        prior=Prior(1e-4, 1e-6),
        optimiser=Adam(3000, signed=False),
        restarts=4,
        consistency=1e-2,
        statistics="running",
        statistics_weight=0.1,
    ),
    # Huang et al. 2021: with private labels and batch-norm statistics, and with labels alone
    "huang2021-strongest": replace(
        SURVIVING, prior=Prior(1e-2), optimiser=Adam(10_000), labels="known", statistics="exact"
    ),
    "huang2021-realistic": replace(SURVIVING, prior=Prior(1e-1), optimiser=Adam(10_000), labels="known"),
    # Yue et al. 2023: quarter resolution
    "rog": replace(
        AS_PRINTED,
        distance=Squared(),
        optimiser=Adam(100, rate=0.05, signed=False),
        start=Start(coarse=4, stays=True),
    ),
    # gradient matching with settings searched for on own images
    "gradient-matching-tuned": TunedMatching(),
}

ON_MODELS: dict[str, Lira | Rmia] = {"lira": Lira(), "rmia": Rmia()}
"""Attacks on a trained model, of one who has candidates and their labels."""

__all__ = ["ATTACKS", "ON_MODELS", "VARIANTS", "describe", "refusal", "run", "settings"]
