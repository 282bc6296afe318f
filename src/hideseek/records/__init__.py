"""The records that pass through the verbs, and the contracts of those who make them.

`secret` is not re-exported: who needs the truth says so by its full name.
"""

from hideseek.records.encoder import Encoder
from hideseek.records.release import EncodedRelease, Release
from hideseek.records.samples import Normalisation, Samples

__all__ = ["EncodedRelease", "Encoder", "Normalisation", "Release", "Samples"]
