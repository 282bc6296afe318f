"""Frames of 12 bits compressed as JPEG Extended, as older X-ray machines store them.

pydicom refuses to give them to GDCM, which decodes them right where it is told how many bits they have: so this is a
decoder of pydicom's kind beside its own, which is asked where these do not answer.
"""

import importlib.util
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydicom.pixels.decoders.base import DecodeRunner

EXTENDED = "1.2.840.10008.1.2.4.51"
DECODER_DEPENDENCIES = {EXTENDED: ("gdcm>=3.0.10",)}  # pydicom looks for it by this name


@cache
def register() -> None:
    """Tell pydicom of this decoder."""
    from pydicom.pixels.decoders.base import get_decoder

    get_decoder(EXTENDED).add_plugin("hideseek", (__name__, "decoded"))


def is_available(uid: str) -> bool:
    """Tell pydicom whether frames of a transfer syntax can be decoded here."""
    return uid == EXTENDED and importlib.util.find_spec("gdcm") is not None


def decoded(frame: bytes, runner: "DecodeRunner") -> bytes:
    """Decode a grey frame of more than 8 bits; what is raised, pydicom reports beside what its own decoders say."""
    import gdcm

    if runner.samples_per_pixel != 1 or runner.bits_stored <= 8:
        raise ValueError("other frames are for the decoders of pydicom")
    fragment = gdcm.Fragment()
    fragment.SetByteStringValue(frame)
    fragments = gdcm.SequenceOfFragments.New()
    fragments.AddFragment(fragment)
    pixels = gdcm.DataElement(gdcm.Tag(0x7FE0, 0x0010))
    pixels.SetValue(fragments.__ref__())
    image = gdcm.Image()
    image.SetNumberOfDimensions(2)
    image.SetDimensions((runner.columns, runner.rows, 1))
    image.SetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.JPEGExtendedProcess2_4))
    kind = gdcm.PhotometricInterpretation.GetPIType(str(runner.photometric_interpretation))
    image.SetPhotometricInterpretation(gdcm.PhotometricInterpretation(kind))
    bits = runner.bits_stored
    image.SetPixelFormat(gdcm.PixelFormat(1, runner.bits_allocated, bits, bits - 1, runner.pixel_representation))
    image.SetDataElement(pixels)
    found: str = image.GetBuffer()  # bytes, as GDCM's own text
    return found.encode("utf-8", "surrogateescape")
