"""One DICOM file: what its header says of its images, and these, frame by frame.

Headers hold people's names. Of a header nothing leaves this file but the size and kind of images, and what the file
calls the patient, which is made a number (`patients.py`); what pydicom warns of, logs or raises may repeat values, and
is replaced by sentences of our own.
"""

import logging
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hideseek.data import jpeg_extended
from hideseek.data.decode import SMALLEST, BadImage
from hideseek.data.deep_image import fitted, with_channels
from hideseek.data.dicom_values import grey_values, is_plain
from hideseek.data.reader import Look, Reader
from hideseek.errors import BadInput
from hideseek.files import check_plain

if TYPE_CHECKING:
    from pydicom.dataset import FileDataset

SUFFIXES = (".dcm", ".dicom", ".dic", ".ima")
_INDEX = "dicomdir"  # a file that lists others
_PREAMBLE, _MAGIC = 128, b"DICM"
_DEFERRED = 1 << 16  # bytes of a value from which on it is not read with the header
_MOST = 1 << 28  # pixels of a frame
_GREY = ("MONOCHROME1", "MONOCHROME2")
_COLOUR = ("RGB", "PALETTE COLOR", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT", "YBR_PARTIAL_420")
_LOGGERS = ("pydicom", "pydicom.pixels.utils", "pydicom.pixels.decoders.base")
_BROKEN = (
    *(AttributeError, LookupError, ValueError, TypeError, EOFError, OSError, ArithmeticError, RuntimeError),
    *(struct.error, zlib.error, NotImplementedError, AssertionError, MemoryError),
)


def is_dicom(file: Path) -> bool:
    """Tell whether a file is DICOM, by its name or its first bytes; an index of others is none."""
    if file.name.casefold().partition(".")[0] == _INDEX:
        return False
    if file.suffix.lower() in SUFFIXES:
        return True
    try:
        check_plain(file)
        with file.open("rb") as opened:
            return opened.read(_PREAMBLE + len(_MAGIC))[_PREAMBLE:] == _MAGIC
    except (OSError, BadInput):
        return False


def look(file: Path, name: str) -> Look:
    """Read the header of a file, and refuse what has no image that can be read."""
    with _blamed(name):
        header = _read(file, name, deferred=True)
        _check(header, name)
        photometric = str(header.PhotometricInterpretation)
        grey = photometric in _GREY
        return Look(
            side=min(int(header.Rows), int(header.Columns)),
            grey=grey,
            deep=not is_plain(header) if grey else _deep_colours(header),
            frames=max(1, int(header.get("NumberOfFrames") or 1)),
            patient=_patient(header),
            burnt_in=str(header.get("BurnedInAnnotation", "")) == "YES",
        )


def frames(file: Path, name: str, channels: int, size: tuple[int, int] | None) -> Iterator[NDArray[np.generic]]:
    """Give every frame, c×h×w: bytes where the file shows bytes as they are, else floats from 0 to 1."""
    with _blamed(name):
        from pydicom.pixels.utils import iter_pixels

        header = _read(file, name)
        grey = str(header.PhotometricInterpretation) in _GREY
        plain = is_plain(header) if grey else not _deep_colours(header)
        for number, stored in enumerate(_stored(iter_pixels(header), name)):
            values = grey_values(stored, header, number)[None] if grey else _colours(stored, header)
            found = fitted(with_channels(values.astype(np.float32), channels), size)
            yield np.rint(found * 255).astype(np.uint8) if plain else found


def _stored(found: Iterator[NDArray[Any]], name: str) -> Iterator[NDArray[Any]]:
    """Give what is stored of each frame; that none of several decoders can decode it is a `RuntimeError`."""
    try:
        yield from found
    except RuntimeError:
        fault = "compressed pixels that cannot be decoded here"
        sentence = f"{name} has {fault}; replace it, or store it uncompressed, such as by gdcmconv --raw of GDCM."
        raise BadImage(name, fault, sentence) from None


DICOM = Reader("DICOM", is_dicom, look, frames, threads=1)  # decoders in C need not be safe on several


def _read(file: Path, name: str, *, deferred: bool = False) -> "FileDataset":
    """Read a file, or its header alone."""
    pydicom = _pydicom()
    check_plain(file)
    try:
        header = pydicom.dcmread(
            file, force=file.suffix.lower() in SUFFIXES, defer_size=_DEFERRED if deferred else None
        )
    except pydicom.errors.InvalidDicomError:
        raise _not_whole(name) from None
    if "TransferSyntaxUID" not in header.file_meta:
        implicit, little = header.original_encoding
        uids = pydicom.uid
        plain = uids.ImplicitVRLittleEndian if implicit else uids.ExplicitVRLittleEndian
        header.file_meta.TransferSyntaxUID = plain if little else uids.ExplicitVRBigEndian
    return header  # type: ignore[no-any-return] # of pydicom


def _check(header: "FileDataset", name: str) -> None:
    """Refuse, by the header, what is no image or cannot be decoded here."""
    if not any(each in header for each in ("PixelData", "FloatPixelData", "DoubleFloatPixelData")):
        if "SOPClassUID" not in header and "Rows" not in header:
            raise _not_whole(name)
        fault = "no pixel data"
        raise BadImage(name, fault, f"{name} is a DICOM file with {fault}, such as a report; take it out.")
    if "PixelData" not in header or int(header.BitsAllocated) > 16:
        fault = "numbers of more than 16 bits"
        raise BadImage(name, fault, f"{name} holds {fault}, which are no picture; take it out.")
    photometric = str(header.PhotometricInterpretation)
    if photometric not in (*_GREY, *_COLOUR):
        fault = "colours of a kind that is not read"
        raise BadImage(name, fault, f"{name} holds {fault}; convert it to RGB, such as by dcmconv of DCMTK.")
    rows, columns = int(header.Rows), int(header.Columns)
    if min(rows, columns) < SMALLEST:
        raise BadImage(
            name,
            f"smaller than {SMALLEST}×{SMALLEST} pixels",
            f"{name} has {columns}×{rows} pixels and at least {SMALLEST}×{SMALLEST} are needed; take it out.",
        )
    if rows * columns > _MOST:
        fault = "more pixels than is safe to decode"
        raise BadImage(name, fault, f"{name} has {fault}; scale it down or take it out.")
    if not _decodable(str(header.file_meta.TransferSyntaxUID)):
        syntax = header.file_meta.TransferSyntaxUID
        called = f" ({syntax.name})" if syntax.name != str(syntax) else ""
        fault = "compressed or encrypted in a way that cannot be decoded here"
        raise BadImage(
            name, fault, f"{name} is {fault}{called}; store it uncompressed first, such as by gdcmconv --raw of GDCM."
        )


@cache
def _decodable(syntax: str) -> bool:
    """Tell whether there is a decoder for a transfer syntax."""
    from pydicom.pixels.decoders.base import get_decoder

    try:
        return bool(get_decoder(syntax).is_available)
    except NotImplementedError:
        return False


def _patient(header: "FileDataset") -> str | None:
    """Give what the file calls the patient; where it does not say, the study, which is of one person."""
    patient = str(header.get("PatientID") or "").strip()
    study = str(header.get("StudyInstanceUID") or "").strip()
    return patient or (f"study {study}" if study else None)


def _deep_colours(header: "FileDataset") -> bool:
    """Tell whether colours have more than 8 bits; of a palette, its entries."""
    table = header.get("RedPaletteColorLookupTableDescriptor")
    palette = header.PhotometricInterpretation == "PALETTE COLOR" and table
    return int(table[2] if palette else header.BitsAllocated) > 8


def _colours(stored: NDArray[Any], header: "FileDataset") -> NDArray[Any]:
    """Give a frame in colours, which pydicom has turned to RGB, from 0 to 1."""
    if header.PhotometricInterpretation == "PALETTE COLOR":
        from pydicom.pixels.processing import apply_color_lut

        stored = apply_color_lut(stored, header)[:, :, :3]
        bits = 8 * stored.dtype.itemsize
    else:
        bits = int(header.BitsStored)
    values: NDArray[Any] = stored.astype(np.float64) / (2**bits - 1)
    return values.clip(0, 1).transpose(2, 0, 1)


def _pydicom() -> Any:
    try:
        import pydicom
        import pydicom.errors
    except ImportError:
        raise BadInput("DICOM files need pydicom; install hideseek[dicom].") from None
    jpeg_extended.register()
    return pydicom


def _not_whole(name: str) -> BadImage:
    fault = "not a whole DICOM file"
    return BadImage(name, fault, f"{name} is {fault}; replace it or take it out.")


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Turn whatever is wrong with a file into one sentence that holds nothing of it, and keep pydicom silent."""
    logs = [logging.getLogger(each) for each in _LOGGERS]
    before = [each.disabled for each in logs]
    _silence_gdcm()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for log in logs:
            log.disabled = True
        try:
            yield
        except BadInput:
            raise
        except PermissionError:
            sentence = f"{name} may not be read by this user; change its permissions or take it out."
            raise BadImage(name, "may not be read by this user", sentence) from None
        except _BROKEN:
            raise _not_whole(name) from None
        finally:
            for log, disabled in zip(logs, before, strict=True):
                log.disabled = disabled


@cache
def _silence_gdcm() -> None:
    """Keep GDCM, where it is, from writing to the terminal."""
    try:
        import gdcm
    except ImportError:
        return
    for off in (gdcm.Trace.WarningOff, gdcm.Trace.ErrorOff, gdcm.Trace.DebugOff):
        off()
