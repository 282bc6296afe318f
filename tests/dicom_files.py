"""DICOM files of our own, whose headers are full of words that must not leave."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

COMPUTED_RADIOGRAPHY = UID("1.2.840.10008.5.1.4.1.1.1")
HIDESEEK = "1.2.826.0.1.3680043.8.498."  # the root of pydicom's own examples


def header(pixels: NDArray[Any], patient: str = "", **tags: Any) -> FileDataset:
    """Make a file of stored numbers, h×w, frames×h×w, or h×w×3; tags are set last."""
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = COMPUTED_RADIOGRAPHY
    meta.MediaStorageSOPInstanceUID = generate_uid(HIDESEEK)
    made = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    made.SOPClassUID = COMPUTED_RADIOGRAPHY
    made.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    made.PatientID = patient
    colour = pixels.ndim == 3 and pixels.shape[2] == 3
    if pixels.ndim == 3 and not colour:
        made.NumberOfFrames = len(pixels)
    made.Rows, made.Columns = pixels.shape[:2] if colour or pixels.ndim == 2 else pixels.shape[1:]
    made.SamplesPerPixel = 3 if colour else 1
    if colour:
        made.PlanarConfiguration = 0
    made.PhotometricInterpretation = "RGB" if colour else "MONOCHROME2"
    made.BitsAllocated = made.BitsStored = 8 * pixels.dtype.itemsize
    made.HighBit = made.BitsStored - 1
    made.PixelRepresentation = int(pixels.dtype.kind == "i")
    made.PixelData = pixels.tobytes() + b"\0" * (pixels.nbytes % 2)
    for name, value in tags.items():
        setattr(made, name, value)
    return made


def write(path: Path, made: FileDataset) -> Path:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save_as(path, enforce_file_format=True)
    return path


def table(entries: NDArray[Any], first: int, bits: int) -> Sequence:
    """Make a lookup table."""
    item = Dataset()
    item.LUTDescriptor = [len(entries), first, bits]
    item.LUTData = entries.tolist()
    item["LUTDescriptor"].VR = "US" if first >= 0 else "SS"
    item["LUTData"].VR = "US"
    return Sequence([item])


def scan(seed: int, side: int = 16, bits: int = 12) -> NDArray[np.uint16]:
    """Give something smooth with an edge, different for every seed."""
    chance = np.random.default_rng(seed)
    y, x = np.indices((side, side)) / side
    wave = np.sin(chance.uniform(2, 6) * x + chance.uniform(0, 6)) * np.cos(chance.uniform(2, 6) * y)
    edge = (x > chance.uniform(0.3, 0.7)) * chance.uniform(0.2, 0.6)
    return np.asarray(((wave + 1 + edge) / 2.7 * (2**bits - 1)).astype(np.uint16))


def hospital(folder: Path, patients: int = 12, each: int = 2, side: int = 16) -> list[str]:
    """Write an archive of two classes, several files a patient, and give every word of the headers."""
    words: list[str] = []
    for number in range(patients):
        said = {
            "PatientName": f"Zwirbelmeier^Kunigunde-{number:03}",
            "PatientBirthDate": f"19{number + 40}0317",
            "OtherPatientIDs": f"KVNR-A77{number:05}",
            "ReferringPhysicianName": "Doktor^Eisenbarth",
            "InstitutionName": "Spital zum Heiligen Kreuz",
            "StudyDescription": "Thorax p.a. im Liegen",
            "PatientComments": "hustet seit Dienstag; Notiz ßäö",
            "AccessionNumber": f"ACC-{number:06}",
            "StudyInstanceUID": f"{HIDESEEK}777.{number + 1}",
            "StudyDate": "20260311",
            "DeviceSerialNumber": "SN-4711-0815",
        }
        for image in range(each):
            made = header(
                scan(100 * number + image, side),
                f"MRN-90{number:04}",
                SpecificCharacterSet="ISO_IR 192",
                BitsStored=12,
                HighBit=11,
                WindowCenter="2047.5",
                WindowWidth="4095.25",
                **said,
            )
            write(folder / ("sick" if number % 2 else "well") / f"{number:02}-{image}.dcm", made)
            words += values(made)
    return list(dict.fromkeys(words))


def values(made: FileDataset) -> list[str]:
    """Give every value of a header as text."""
    found = []
    for element in (*made.iterall(), *made.file_meta.iterall()):
        if element.keyword != "PixelData" and element.VR != "SQ":
            several = element.value if element.VM > 1 else [element.value]
            found += [str(each) for each in several]
    return found
