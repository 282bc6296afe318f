"""The records that pass through the verbs, and the contracts of those who make them.

`secret` is not re-exported: who needs the truth says so by its full name.
"""

from hideseek.records.attack import Attack, Task
from hideseek.records.claims import Attribution, Claim, Links, Masks, Reconstruction, Uncovered
from hideseek.records.encoder import Encoder
from hideseek.records.evidence import Evidence
from hideseek.records.release import EncodedRelease, Release
from hideseek.records.samples import Normalisation, Samples

__all__ = [
    "Attack",
    "Attribution",
    "Claim",
    "EncodedRelease",
    "Encoder",
    "Evidence",
    "Links",
    "Masks",
    "Normalisation",
    "Reconstruction",
    "Release",
    "Samples",
    "Task",
    "Uncovered",
]
