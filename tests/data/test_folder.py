import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from hideseek.data import folder as folder_module
from hideseek.data import load, store
from hideseek.data.labels import BadLabels, NoLabels
from hideseek.errors import BadInput

Log = pytest.LogCaptureFixture
Make = Callable[[dict[str, tuple[int, int, int]]], Path]
COLOUR, GREY = (12, 16, 3), (12, 16, 1)
FOUR = {"b/2.png": COLOUR, "a/1.png": COLOUR, "a/0.png": COLOUR, "b/deeper/1.png": COLOUR}


def refusal(address: str, **options: object) -> str:
    with pytest.raises(BadInput) as caught:
        load(address, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_files_come_in_sorted_order_with_their_classes_and_exact_bytes(picture_folder: Make) -> None:
    folder = picture_folder(FOUR)
    samples = load(f"folder:{folder}")
    assert samples.classes == ("a", "b")
    assert samples.images.dtype == torch.uint8
    assert samples.labels.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    for row, name in enumerate(["a/0.png", "a/1.png", "b/2.png", "b/deeper/1.png"]):
        expected = np.asarray(Image.open(folder / name)).transpose(2, 0, 1)
        assert np.array_equal(samples.images[row].numpy(), expected)
    assert torch.allclose(samples.pixels(), samples.images.float() / 255)
    assert samples.normalisation.kind == "none"


def with_files(folder: Path, *names: str) -> Path:
    """Put files that are no images into a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("not an image")
    return folder


def test_other_files_are_passed_over_and_counted_by_type(picture_folder: Make, caplog: Log) -> None:
    folder = with_files(picture_folder(FOUR), "a/notes.txt", "a/1.dcm", "b/2.DCM", "notes.csv", "b/deeper/LICENSE")
    samples = load(f"folder:{folder}")
    assert (len(samples), samples.classes) == (4, ("a", "b"))
    (said,) = caplog.messages
    assert said.startswith(
        f"5 files were passed over in {folder}: 2 .dcm, 1 .csv, 1 .txt, 1 without a suffix; read DICOM"
    )
    caplog.clear()
    assert len(load(f"folder:{folder}", labelled=False)) == 4
    assert caplog.messages == [said]


def test_hidden_files_and_empty_subfolders_are_passed_over_without_a_word(picture_folder: Make, caplog: Log) -> None:
    folder = with_files(picture_folder(FOUR), "a/.hidden.png", ".git/x.png", "a/.dir/1.png", "._loose.png", ".DS_Store")
    (folder / "empty").mkdir()
    samples = load(f"folder:{folder}")
    assert (len(samples), samples.classes) == (4, ("a", "b"))
    assert caplog.messages == []


def test_a_class_is_not_lost_for_the_type_of_its_files(picture_folder: Make) -> None:
    folder = with_files(picture_folder(FOUR), *(f"sick/{i}.dcm" for i in range(10)), "sick/deep/1.txt")
    assert refusal(f"folder:{folder}") == (
        "the subfolder 'sick' holds no JPEG, PNG, WebP, BMP or TIFF image but 10 .dcm, 1 .txt, so its class would be"
        " lost; read DICOM files by dicom:PATH, in a folder of their own, or take it out."
    )
    message = refusal(f"folder:{with_files(folder, 'x/1.gif', 'y/2.gif')}")
    assert message.startswith("the subfolders 'sick', 'x', 'y' hold no JPEG")
    assert "dicom:PATH" in message
    assert len(load(f"folder:{folder}", labelled=False)) == 4


def test_a_folder_of_other_types_alone_says_which(tmp_path: Path) -> None:
    for place in ("scans", "scans/normal"):
        folder = with_files(tmp_path / place, "0.dcm", "1.dicom")
        for labelled in (True, False):
            message = refusal(f"folder:{folder}", labelled=labelled)
            assert "holds no JPEG, PNG, WebP, BMP or TIFF image but " in message
            assert " .dcm" in message
            assert "read DICOM files by dicom:PATH" in message


def test_grey_images_among_colour_ones_are_counted(picture_folder: Make, caplog: Log) -> None:
    folder = picture_folder({**FOUR, "a/2.png": GREY, "b/3.png": GREY})
    assert load(f"folder:{folder}").shape == (3, 12, 16)
    assert caplog.messages == ["2 of 6 images are grey: all become three channels."]
    caplog.clear()
    load(f"folder:{folder}", channels=3)
    assert caplog.messages == []


def test_all_files_that_cannot_be_used_are_named_at_once(picture_folder: Make) -> None:
    folder = with_files(picture_folder(FOUR), "a/text.png", "b/text.jpg")
    picture_folder({"a/tiny.png": (3, 3, 3), "b/other-size.png": (20, 20, 3)})
    whole = (folder / "a/0.png").read_bytes()
    for i in range(12):
        (folder / f"a/cut-{i:02}.png").write_bytes(whole[: len(whole) // 2])
    message = refusal(f"folder:{folder}")
    assert message.startswith(
        "15 files cannot be used (not a whole JPEG, PNG, WebP, BMP or TIFF image: a/cut-00.png, a/cut-01"
    )
    assert "a/cut-09.png and 4 more; smaller than 8×8 pixels: a/tiny.png); replace" in message


def test_all_files_may_be_unusable(tmp_path: Path) -> None:
    folder = with_files(tmp_path, "a/0.png", "b/1.png")
    assert "2 files cannot be used" in refusal(f"folder:{folder}")


@pytest.mark.parametrize("suffix", [".JPG", ".Jpeg", ".PNG", ".webp", ".BMP"])
def test_every_format_is_read_whatever_the_case_of_its_suffix(picture_folder: Make, suffix: str) -> None:
    folder = picture_folder({"a/0.png": COLOUR, "b/0.png": COLOUR})
    Image.open(folder / "a/0.png").save(folder / f"a/1{suffix}")
    assert len(load(f"folder:{folder}")) == 3


def test_channels_are_one_if_all_are_grey_else_three_unless_forced(picture_folder: Make) -> None:
    folder = picture_folder({"a/0.png": GREY, "b/0.png": GREY})
    assert load(f"folder:{folder}").shape == (1, 12, 16)
    assert load(f"folder:{folder}", channels=3).shape == (3, 12, 16)
    picture_folder({"a/1.png": COLOUR})
    mixed = load(f"folder:{folder}")
    assert mixed.shape == (3, 12, 16)
    assert (mixed.images[0, 0] == mixed.images[0, 1]).all()
    assert load(f"folder:{folder}", channels=1).shape == (1, 12, 16)


def test_unlabelled_takes_flat_and_nested_folders(picture_folder: Make) -> None:
    folder = picture_folder({"0.png": COLOUR, "deep/er/1.png": COLOUR})
    samples = load(f"folder:{folder}", labelled=False)
    assert samples.labels.shape == (2, 0)
    assert samples.classes == ()


def test_size_brings_different_images_to_one_size(picture_folder: Make) -> None:
    folder = picture_folder({"a/0.png": (20, 40, 3), "b/0.png": (33, 17, 3)})
    assert load(f"folder:{folder}", size=16).shape == (3, 16, 16)
    assert load(f"folder:{folder}", size=(10, 24)).shape == (3, 10, 24)


def test_two_sizes_without_a_size_are_both_named(picture_folder: Make) -> None:
    message = refusal(f"folder:{picture_folder({'a/0.png': (20, 40, 3), 'b/0.png': (33, 17, 3)})}")
    assert "40×20" in message
    assert "17×33" in message
    assert "a/0.png" in message
    assert "b/0.png" in message
    assert "give one size" in message


def test_a_large_set_lives_in_a_file_without_a_name(picture_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = picture_folder(FOUR)
    expected = load(f"folder:{folder}").images
    monkeypatch.setattr(store, "MEMORY_LIMIT", 1000)
    made: list[NDArray[np.generic]] = []

    def allocate(shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[np.generic]:
        made.append(store.allocate(shape, dtype))
        return made[-1]

    monkeypatch.setattr(folder_module, "allocate", allocate)
    images = load(f"folder:{folder}").images
    assert isinstance(made[0], np.memmap)
    assert made[0].filename is None
    assert images.equal(expected)


@pytest.mark.parametrize("name", ["b/text.jpg", "b/cut.png", "b/empty.webp"])
def test_files_that_are_not_images_are_named_relative_to_the_folder(picture_folder: Make, name: str) -> None:
    folder = picture_folder(FOUR)
    whole = (folder / "a/0.png").read_bytes()
    (folder / name).write_bytes({"text": b"Dear diary", "cut": whole[: len(whole) // 2], "empty": b""}[Path(name).stem])
    message = refusal(f"folder:{folder}")
    assert message.startswith(name)
    assert "replace it or take it out" in message


@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 30), (30, 7)])
def test_tiny_images_are_refused(picture_folder: Make, height: int, width: int) -> None:
    folder = picture_folder(FOUR)
    picture_folder({"b/tiny.png": (height, width, 3)})
    message = refusal(f"folder:{folder}", size=16)
    assert message.startswith(f"b/tiny.png has {width}×{height} pixels")


def test_too_many_pixels_are_refused_and_many_are_not(picture_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = picture_folder(FOUR)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 12 * 16 - 1)  # Pillow warns here and refuses twice as many
    assert len(load(f"folder:{folder}")) == 4
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 12 * 16 // 2 - 1)
    assert "more pixels than is safe" in refusal(f"folder:{folder}")


def test_missing_empty_and_lonely_folders(picture_folder: Make, tmp_path: Path) -> None:
    assert "no folder" in refusal(f"folder:{tmp_path}/nowhere")
    (tmp_path / "empty").mkdir()
    assert "no JPEG, PNG, WebP, BMP or TIFF image" in refusal(f"folder:{tmp_path}/empty")
    assert "one image only" in refusal(f"folder:{picture_folder({'a/0.png': COLOUR})}")
    assert "one class 'a'" in refusal(f"folder:{picture_folder({'a/1.png': COLOUR})}")
    assert "no folder" in refusal(f"folder:{tmp_path}/pictures/a/1.png")


def test_loose_images_are_refused_when_labels_are_wanted(picture_folder: Make) -> None:
    folder = picture_folder({"0.png": COLOUR, "1.png": COLOUR})
    with pytest.raises(NoLabels, match="are in no subfolders, so they have no classes; move each"):
        load(f"folder:{folder}")
    picture_folder({"a/1.png": COLOUR})
    with pytest.raises(BadLabels, match=r"2 images lie directly in .*, beside subfolders; move every image"):
        load(f"folder:{folder}")


def test_folders_that_may_not_be_listed(picture_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = picture_folder(FOUR)
    real = os.scandir

    def forbid(place: os.PathLike[str] | str) -> Iterator[os.DirEntry[str]]:
        if Path(place).name == "deeper":
            raise PermissionError(13, "Permission denied", str(place))
        return real(place)

    monkeypatch.setattr(os, "scandir", forbid)
    message = refusal(f"folder:{folder}")
    assert "deeper cannot be listed (Permission denied)" in message
    monkeypatch.undo()
    monkeypatch.setattr(Path, "is_dir", lambda self: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    assert "cannot be listed" in refusal(f"folder:{folder}")


def test_files_that_may_not_be_read(picture_folder: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = picture_folder(FOUR)
    real = Image.open

    def forbid(file: Path, **options: object) -> Image.Image:
        if file.name == "2.png":
            raise PermissionError(13, "Permission denied")
        return real(file, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Image, "open", forbid)
    assert refusal(f"folder:{folder}").startswith("b/2.png may not be read")


def test_names_of_any_bytes_can_be_printed(picture_folder: Make) -> None:
    folder = picture_folder({"a/0.png": COLOUR, "b/0.png": COLOUR})
    odd = (folder / "b").rename(folder / os.fsdecode(b"caf\xe9"))
    assert load(f"folder:{folder}").classes[1].encode("utf-8")
    (odd / "1.png").write_text("no image")
    assert refusal(f"folder:{folder}").encode("utf-8")
