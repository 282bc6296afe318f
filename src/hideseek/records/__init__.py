"""The records that pass through the verbs, and the contracts of those who make them.

`secret` and `mixing_secret` are not re-exported: who needs the ground truth says so by its full name.
"""

from hideseek.records.attack import Attack
from hideseek.records.claims import (
    Attribution,
    Claim,
    Labels,
    Links,
    Masks,
    Membership,
    PublicImagesFound,
    Reconstruction,
)
from hideseek.records.encoded_release import EncodedRelease
from hideseek.records.encoder import Bound, Change, ChangeKind, Effective, Encoder, Known
from hideseek.records.evidence import Evidence
from hideseek.records.mixing_encoder import (
    ImagesPerRow,
    LabelKind,
    MixingEncoder,
    Movement,
    Queries,
    RowNoise,
    RowType,
    SharedLabels,
)
from hideseek.records.refusal import Reason, Refusal, Refused
from hideseek.records.release import Contents, Release
from hideseek.records.samples import CutFrom, Normalisation, Samples
from hideseek.records.spent import Spent
from hideseek.records.task import Task

__all__ = [
    "Attack",
    "Attribution",
    "Bound",
    "Change",
    "ChangeKind",
    "Claim",
    "Contents",
    "CutFrom",
    "Effective",
    "EncodedRelease",
    "Encoder",
    "Evidence",
    "ImagesPerRow",
    "Known",
    "LabelKind",
    "Labels",
    "Links",
    "Masks",
    "Membership",
    "MixingEncoder",
    "Movement",
    "Normalisation",
    "PublicImagesFound",
    "Queries",
    "Reason",
    "Reconstruction",
    "Refusal",
    "Refused",
    "Release",
    "RowNoise",
    "RowType",
    "Samples",
    "SharedLabels",
    "Spent",
    "Task",
]
