import logging
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pydicom.data
import pytest
import torch
from numpy.typing import NDArray
from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset, FileDataset
from pydicom.encaps import encapsulate
from pydicom.sequence import Sequence
from pydicom.uid import UID, JPEG2000Lossless, generate_uid

from dicom_files import header, scan, table, write
from hideseek.data import load
from hideseek.data.dicom import frames, look
from hideseek.data.labels import NoLabels
from hideseek.errors import BadInput

TWELVE = scan(1)
EIGHT = (scan(2) >> 4).astype(np.uint8)


def read(path: Path, made: FileDataset, channels: int = 1) -> NDArray[np.generic]:
    """Write a file of one frame, and read it."""
    (found,) = frames(write(path / "x.dcm", made), "x.dcm", channels, None)
    return found


def twelve(**tags: object) -> FileDataset:
    return header(TWELVE, "one", BitsStored=12, HighBit=11, **tags)


def window(x: NDArray[np.float64], centre: float, width: float) -> NDArray[np.float64]:
    """The pseudo-code of PS3.3 C.11.2.1.2.1, number by number, from 0 to 1."""
    out = np.empty_like(x)
    for place, value in np.ndenumerate(x):
        if value <= centre - 0.5 - (width - 1) / 2:
            out[place] = 0
        elif value > centre - 0.5 + (width - 1) / 2:
            out[place] = 1
        else:
            out[place] = (value - (centre - 0.5)) / (width - 1) + 0.5
    return out


def test_twelve_bits_without_a_window_are_shown_whole(tmp_path: Path) -> None:
    found = read(tmp_path, twelve())
    assert found.dtype == np.float32
    assert np.array_equal(np.rint(found[0].astype(np.float64) * 4095), TWELVE)


def test_eight_plain_bits_stay_bytes(tmp_path: Path) -> None:
    found = read(tmp_path, header(EIGHT))
    assert found.dtype == np.uint8
    assert np.array_equal(found[0], EIGHT)
    inverted = read(tmp_path, header(EIGHT, PhotometricInterpretation="MONOCHROME1"))
    assert np.array_equal(inverted[0], 255 - EIGHT)


@pytest.mark.parametrize(("centre", "width"), [(2048, 1000), (1500.5, 1), (2000, 2)])
def test_a_window_is_the_line_of_the_standard(tmp_path: Path, centre: float, width: float) -> None:
    found = read(tmp_path, twelve(WindowCenter=[centre, 5], WindowWidth=[width, 7]))
    expected = window(TWELVE.astype(np.float64), centre, width)
    assert np.allclose(found[0], expected, atol=1e-6)
    assert 0 < expected.mean() < 1


def test_other_functions_of_a_window(tmp_path: Path) -> None:
    x = TWELVE.astype(np.float64)
    exact = read(tmp_path, twelve(WindowCenter=2000, WindowWidth=900, VOILUTFunction="LINEAR_EXACT"))
    assert np.allclose(exact[0], ((x - 2000) / 900 + 0.5).clip(0, 1), atol=1e-6)
    sigmoid = read(tmp_path, twelve(WindowCenter=2000, WindowWidth=900, VOILUTFunction="SIGMOID"))
    assert np.allclose(sigmoid[0], 1 / (1 + np.exp(-4 * (x - 2000) / 900)), atol=1e-6)


def test_numbers_are_rescaled_before_they_are_windowed(tmp_path: Path) -> None:
    signed = (TWELVE.astype(np.int16) - 1000) // 2
    made = header(signed, RescaleSlope="2.5", RescaleIntercept="-100", WindowCenter=40, WindowWidth=400)
    assert np.allclose(read(tmp_path, made)[0], window(2.5 * signed.astype(np.float64) - 100, 40, 400), atol=1e-6)
    whole = read(tmp_path, header(signed, RescaleSlope="-1", RescaleIntercept="7"))  # darker, the larger
    assert np.allclose(whole[0], (7 - signed.astype(np.float64) - (7 - 32767)) / 65535, atol=1e-6)


def test_monochrome1_is_inverted_after_the_window(tmp_path: Path) -> None:
    how = {"WindowCenter": 1500, "WindowWidth": 800}
    plain = read(tmp_path, twelve(**how))
    assert np.allclose(read(tmp_path, twelve(PhotometricInterpretation="MONOCHROME1", **how)), 1 - plain, atol=1e-6)


@pytest.mark.parametrize(("first", "bits"), [(0, 16), (500, 12), (4000, 8)])
def test_a_table_of_interest_goes_before_a_window(tmp_path: Path, first: int, bits: int) -> None:
    entries = (np.linspace(0, 1, 1000) ** 2 * (2**bits - 1)).astype(np.uint16)
    made = twelve(VOILUTSequence=table(entries, first, bits), WindowCenter=1, WindowWidth=1)
    expected = entries[(TWELVE.astype(int) - first).clip(0, 999)] / (2**bits - 1)
    assert np.allclose(read(tmp_path, made)[0], expected, atol=1e-6)


def test_a_table_may_be_bytes_and_begin_below_zero(tmp_path: Path) -> None:
    signed = TWELVE.astype(np.int16) - 2048
    entries = np.arange(4096, dtype=np.uint16)[::-1].copy()
    made = header(signed, VOILUTSequence=table(entries, -2048, 12))
    made.VOILUTSequence[0]["LUTData"] = DataElement("LUTData", "OW", entries.tobytes())
    assert np.allclose(read(tmp_path, made)[0], entries[signed.astype(int) + 2048] / 4095, atol=1e-6)


def test_a_modality_table_goes_before_both(tmp_path: Path) -> None:
    entries = (np.arange(4096)[::-1] * 2).astype(np.uint16)
    made = twelve(ModalityLUTSequence=table(entries, 0, 13), WindowCenter=4000, WindowWidth=3000)
    assert np.allclose(read(tmp_path, made)[0], window(entries[TWELVE].astype(float), 4000, 3000), atol=1e-6)


def test_each_frame_is_an_image_under_its_own_window(tmp_path: Path) -> None:
    several = np.stack([scan(seed) for seed in range(3)])
    made = header(several, "one", BitsStored=12, HighBit=11)
    groups = []
    for frame in range(3):
        shown, scaled, group = Dataset(), Dataset(), Dataset()
        shown.WindowCenter, shown.WindowWidth = 1000 * (frame + 1), 500
        scaled.RescaleSlope, scaled.RescaleIntercept = frame + 1, -5
        group.FrameVOILUTSequence, group.PixelValueTransformationSequence = Sequence([shown]), Sequence([scaled])
        groups.append(group)
    made.PerFrameFunctionalGroupsSequence = Sequence(groups)
    path = write(tmp_path / "many.dcm", made)
    samples = load(f"dicom:{path}", labelled=False)
    assert samples.shape == (1, 16, 16)
    assert samples.patients is not None
    assert len(samples.patients.unique()) == 1
    for frame, stored in enumerate(several):
        expected = window((frame + 1.0) * stored - 5, 1000 * (frame + 1), 500)
        assert np.allclose(samples.pixels()[frame, 0], expected, atol=1e-6)


def test_colours_by_photometric_interpretation(tmp_path: Path) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (10, 12, 3), np.uint8)
    assert np.array_equal(read(tmp_path, header(rgb), 3), rgb.transpose(2, 0, 1))
    red, green, blue = rgb.astype(float).transpose(2, 0, 1)
    ybr = [
        0.299 * red + 0.587 * green + 0.114 * blue,
        -0.1687 * red - 0.3313 * green + 0.5 * blue + 128,
        0.5 * red - 0.4187 * green - 0.0813 * blue + 128,
    ]
    stored = np.rint(np.stack(ybr, 2)).clip(0, 255).astype(np.uint8)
    found = read(tmp_path, header(stored, PhotometricInterpretation="YBR_FULL"), 3)
    assert np.abs(found.astype(float) - rgb.transpose(2, 0, 1)).max() <= 2
    palette = np.random.default_rng(1).integers(0, 65536, (3, 256), np.uint16)
    tags: dict[str, Any] = {"PhotometricInterpretation": "PALETTE COLOR"}
    for name, entries in zip(("Red", "Green", "Blue"), palette, strict=True):
        tags[f"{name}PaletteColorLookupTableDescriptor"] = [256, 0, 16]
        tags[f"{name}PaletteColorLookupTableData"] = entries.tobytes()
    coloured = read(tmp_path, header(EIGHT, **tags), 3)
    assert np.allclose(coloured, palette[:, EIGHT] / 65535, atol=1e-6)


PACKAGED = Path(pydicom.data.__file__).parent / "test_files"


@pytest.mark.parametrize(
    "name", ["MR_small_RLE", "MR_small_jp2klossless", "MR_small_jpeg_ls_lossless", "MR_small_bigendian"]
)
def test_compressed_files_give_the_same_numbers(name: str) -> None:
    (plain,) = frames(PACKAGED / "MR_small.dcm", "plain", 1, None)
    (packed,) = frames(PACKAGED / f"{name}.dcm", "packed", 1, None)
    assert np.array_equal(plain, packed)


def test_frames_of_twelve_bits_under_jpeg_extended_are_read(tmp_path: Path) -> None:
    """GDCM packs them here; its own tests, and libjpeg-turbo's numbers, are what says that it is right."""
    gdcm = pytest.importorskip("gdcm")
    across, down = np.arange(40), np.arange(32)[:, None]
    stored = ((np.sin(across / 9 + np.arange(3)[:, None, None]) + np.cos(down / 7) + 2) * 1023).astype(np.uint16)
    plain = header(stored[0], "one", BitsStored=12, HighBit=11, NumberOfFrames=3)
    plain.PixelData = stored.tobytes()
    source = write(tmp_path / "plain.dcm", plain)
    reader = gdcm.ImageReader()
    reader.SetFileName(str(source))
    assert reader.Read()
    packing = gdcm.ImageChangeTransferSyntax()
    packing.SetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.JPEGExtendedProcess2_4))
    packing.SetInput(reader.GetImage())
    assert packing.Change()
    writer = gdcm.ImageWriter()
    packed = tmp_path / "packed.dcm"
    writer.SetFileName(str(packed))
    writer.SetFile(reader.GetFile())
    writer.SetImage(packing.GetOutput())
    assert writer.Write()
    assert pydicom.dcmread(packed).file_meta.TransferSyntaxUID == pydicom.uid.JPEGExtended12Bit
    found = list(frames(packed, "packed", 1, None))
    assert len(found) == 3
    for expected, frame in zip(frames(source, "plain", 1, None), found, strict=True):
        assert np.allclose(expected, frame, atol=4 / 4095, rtol=0)
    for rows, columns in ((16, 16), (33, 40), (2000, 2000)):  # the header says another size than the frame
        other = pydicom.dcmread(packed)
        other.Rows, other.Columns = rows, columns
        with pytest.raises(BadInput, match="compressed pixels that cannot be decoded"):
            list(frames(write(tmp_path / "other.dcm", other), "other", 1, None))


def test_a_folder_of_files_with_any_name_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(4):
        write(tmp_path / "ab"[number % 2] / "study" / f"IM{number:04}", header(scan(number), f"p{number // 2}"))
    (tmp_path / "DICOMDIR").write_bytes(b"\0" * 128 + b"DICM")
    (tmp_path / "a" / "readme.txt").write_text("hello")
    samples = load(f"dicom:{tmp_path}")
    assert (len(samples), samples.classes) == (4, ("a", "b"))
    assert samples.records.tolist() == [0, 1, 0, 1]  # by class: p0 and p1 in each
    assert "2 files were passed over" in caplog.text


def test_files_without_a_patient_go_by_study_or_by_themselves(tmp_path: Path) -> None:
    study = generate_uid("1.2.826.0.1.3680043.8.498.")
    for number in range(4):
        tags = {"StudyInstanceUID": study} if number < 2 else {}
        write(tmp_path / f"{number}.dcm", header(scan(number), " ", **tags))
    assert load(f"dicom:{tmp_path}", labelled=False).records.tolist() == [0, 0, 1, 2]


def test_subfolders_of_patients_are_no_classes(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / f"SECRET{number // 2}" / f"{number}.dcm", header(scan(number), f"person {number // 2}"))
    with pytest.raises(NoLabels, match="each has the images of one patient only") as caught:
        load(f"dicom:{tmp_path}")
    assert "SECRET" not in str(caught.value)
    assert "person" not in str(caught.value)
    for number in range(6, 8):
        write(tmp_path / f"Person {number - 6}" / f"{number}.dcm", header(scan(number), f"person {8 - number}"))
    write(tmp_path / "Person 0" / "8.dcm", header(scan(8), "person 0"))
    with pytest.raises(NoLabels, match="one is called as a patient is"):
        load(f"dicom:{tmp_path}")
    assert len(load(f"dicom:{tmp_path}", labelled=False)) == 9


def test_eight_and_twelve_bits_make_one_set(tmp_path: Path) -> None:
    write(tmp_path / "8.dcm", header(EIGHT))
    write(tmp_path / "12.dcm", twelve())
    samples = load(f"dicom:{tmp_path}", labelled=False)
    assert samples.images.dtype == torch.float32
    assert np.allclose(samples.pixels()[1, 0] * 255, EIGHT, atol=1e-4)


def test_words_in_pixels_are_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        write(tmp_path / f"{number}.dcm", header(EIGHT, BurnedInAnnotation="YES" if number else "NO"))
    load(f"dicom:{tmp_path}", labelled=False)
    assert "2 of 3 files say that words are written into the pixels" in caplog.text


def broken(folder: Path) -> dict[str, str]:
    """Write a bad file of every kind, and give what is said of each."""
    report = header(EIGHT, "Leaky^Name")
    del report.PixelData
    write(folder / "report.dcm", report)
    whole = write(folder / "cut.dcm", header(EIGHT, "Leaky^Name")).read_bytes()
    (folder / "cut.dcm").write_bytes(whole[: len(whole) - 100])
    (folder / "header-cut.dcm").write_bytes(whole[:200])
    (folder / "words.dcm").write_text("Leaky^Name" * 20)
    film = header(EIGHT, "Leaky^Name")
    film.file_meta.TransferSyntaxUID = UID("1.2.840.10008.1.2.4.100")  # MPEG2
    film.file_meta.MediaStorageSOPInstanceUID = film.SOPInstanceUID
    film.PixelData = struct.pack("<HHLHHL", 0xFFFE, 0xE000, 0, 0xFFFE, 0xE000, 4) + b"film"
    film["PixelData"].is_undefined_length = True
    write(folder / "film.dcm", film)
    write(folder / "secret.dcm", film)
    content = (folder / "secret.dcm").read_bytes()
    (folder / "secret.dcm").write_bytes(content.replace(b"1.2.840.10008.1.2.4.100\0", b"1.2.826.0.1.77.99.88.66\0"))
    packed = header(EIGHT, "Leaky^Name")
    packed.file_meta.TransferSyntaxUID = JPEG2000Lossless
    packed.PixelData = encapsulate([b"Leaky^Name" * 4])
    packed["PixelData"].is_undefined_length = True
    write(folder / "packed.dcm", packed)
    write(folder / "tiny.dcm", header(EIGHT[:4, :4].copy(), "Leaky^Name"))
    odd = header(EIGHT, "Leaky^Name", NumberOfFrames=3)
    write(folder / "frames.dcm", odd)
    return {
        "report.dcm": "is a DICOM file with no pixel data, such as a report; take it out.",
        "cut.dcm": "is not a whole DICOM file; replace it or take it out.",
        "header-cut.dcm": "is not a whole DICOM file; replace it or take it out.",
        "words.dcm": "is not a whole DICOM file; replace it or take it out.",
        "film.dcm": "cannot be decoded here (MPEG2 Main Profile / Main Level); store it uncompressed first",
        "secret.dcm": "compressed or encrypted in a way that cannot be decoded here; store it uncompressed first",
        "packed.dcm": "cannot be decoded here; replace it, or store it uncompressed",
        "tiny.dcm": "has 4×4 pixels and at least 8×8 are needed",
        "frames.dcm": "is not a whole DICOM file",
    }


def test_bad_files_are_one_sentence_each_and_tell_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    said = broken(tmp_path)
    caplog.set_level(logging.DEBUG)
    for name, sentence in said.items():
        with pytest.raises(BadInput) as caught:
            look(tmp_path / name, name)
            list(frames(tmp_path / name, name, 1, None))
        message = str(caught.value)
        assert message.startswith(name)
        assert sentence in message, (name, message)
        assert message.endswith(".")
        assert "1.2.826" not in message
    with pytest.raises(BadInput, match="9 files cannot be used") as caught:
        load(f"dicom:{tmp_path}", labelled=False)
    told = str(caught.value) + caplog.text + "".join(capfd.readouterr())
    assert "Leaky" not in told


def test_without_pydicom_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x.dcm", header(EIGHT))
    monkeypatch.setitem(__import__("sys").modules, "pydicom", None)
    with pytest.raises(BadInput, match=r"DICOM files need pydicom; install hideseek\[dicom\]"):
        load(f"dicom:{tmp_path}", labelled=False)


def test_sizes_that_differ_propose_one(tmp_path: Path) -> None:
    write(tmp_path / "a.dcm", header(scan(1, 140)))
    write(tmp_path / "b.dcm", header(scan(2, 300)))
    with pytest.raises(BadInput, match="give one size for all images, such as 128"):
        load(f"dicom:{tmp_path}", labelled=False)
    assert load(f"dicom:{tmp_path}", size=128, labelled=False).shape == (1, 128, 128)


def test_one_image_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds one image only"):
        load(f"dicom:{write(tmp_path / 'x.dcm', header(EIGHT))}", labelled=False)
    with pytest.raises(NoLabels, match="have no classes"):
        load(f"dicom:{tmp_path / 'x.dcm'}")
