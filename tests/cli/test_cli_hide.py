"""`hideseek hide` and `hideseek show`: what they write and say, and what they say when something is wrong."""

import json
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open
from torch import nn

from hideseek.cli import main
from hideseek.hide import ENCODERS
from hideseek.hide.files.release_files import read_release
from hideseek.models.features import Extractor


def picture(path: Path, size: tuple[int, int] = (16, 16), seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of six images."""
    for label in ("cats", "dogs"):
        for i in range(6):
            picture(tmp_path / "images" / label / f"patient-{i}.png", seed=i)
    return tmp_path / "images"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence of a failed command."""
    captured = capsys.readouterr()
    assert not [line for line in captured.out.splitlines() if " classes" not in line], "nothing else was said"
    assert captured.err.startswith("hideseek: ")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err


def hide(folder: Path, out: Path, *more: str, scheme: str = "mixup") -> int:
    return main(["hide", scheme, "--data", f"folder:{folder}", "--out", str(out), *more])


@pytest.mark.parametrize("scheme", ENCODERS)
def test_every_scheme_explains_itself(
    scheme: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as stop:
        main(["hide", scheme, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    for field in vars(ENCODERS[scheme]):
        assert f"--{field.replace('_', '-')}" in text
    assert len(text.splitlines()) <= 52, "it fits one screen"


def test_the_list_of_schemes_says_which_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hide", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = {name: text.strip() for name, text in (line.strip().split(" ", 1) for line in lines if "    " in line)}
    assert set(ENCODERS) <= set(listed)
    assert listed["intra-instahide"] == "the same as instahide-inside"
    assert len({listed[name] for name in ENCODERS if "the same" not in listed[name]}) == len(ENCODERS) - 2
    assert max(map(len, lines)) <= 100


def test_a_wrong_scheme_gets_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hide", "instahide-crss", "--data", "faces", "--out", "x"]) == 1
    assert "did you mean instahide-cross?" in said(capsys)


def test_hide_and_show(folder: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hide(folder, out, "--k", "3", "--largest", "0.8", scheme="instahide-inside") == 0
    assert "12 images are hidden" in capsys.readouterr().out
    release = read_release(out)
    assert release.encoded.images.shape == (12, 3, 16, 16)
    assert release.encoded.classes == ("cats", "dogs")
    assert vars(release.scheme) == {"k": 3, "k_private": None, "largest": 0.8, "private_share": 0.3, "law": "uniform"}
    assert b"patient" not in b"".join(path.read_bytes() for path in out.iterdir())
    assert main(["show", str(out), "--count", "5"]) == 0
    with Image.open(capsys.readouterr().out.strip()) as sheet:
        assert sheet.format == "PNG"
        assert sheet.width > 5 * 96
    assert main(["show", str(out), "--out", str(tmp_path / "deep" / "sheet.png")]) == 0
    assert (tmp_path / "deep" / "sheet.png").exists()


def test_hide_with_public_images_geometry_seed_and_secret(folder: Path, out: Path, tmp_path: Path) -> None:
    more = ["--public", f"folder:{folder}", "--rotation", "20", "--flip", "--seed", "5", "--normalise", "image"]
    assert hide(folder, out, *more, "--keep-secret", str(tmp_path / "truth"), scheme="instahide-cross") == 0
    about = json.loads((out / "release.json").read_text())
    assert about["reproducible"] is True
    assert about["seed"] == 5
    assert about["normalisation"]["kind"] == "image"
    assert about["scheme"]["geometry"]["rotation"] == 20
    assert about["public"]["images"] == 12
    assert stat.S_IMODE((tmp_path / "truth").stat().st_mode) == 0o600
    with safe_open(tmp_path / "truth", "np") as truth:
        assert {"sources", "weights", "mask", "transforms", "private_images"} <= set(truth.keys())


def test_a_study_may_give_away_what_a_stronger_attacker_knows(folder: Path, out: Path) -> None:
    assert hide(folder, out, "--give-away", "weights", "sources", "--rounds", "2") == 0
    release = read_release(out)
    assert release.weights is not None
    assert release.sources is not None
    assert release.weights.shape == release.sources.shape == (24, 2)


def test_the_embedded_faces_need_no_download(out: Path) -> None:
    assert main(["hide", "laplace", "--data", "faces", "--out", str(out)]) == 0
    assert read_release(out).encoded.images.shape[1:] == (1, 25, 25)


def test_features_that_no_image_has_are_zero(folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks have dead units: the last of these five gives the same for every image."""
    linear = nn.Linear(768, 5)
    network = nn.Sequential(nn.Flatten(), linear, nn.ReLU())
    with torch.no_grad():
        linear.weight[4], linear.bias[:] = 0, torch.tensor([3.0, 3.0, 3.0, 3.0, -1.0])
    monkeypatch.setattr("hideseek.models.features.efficientnet_lite0", lambda: Extractor(network, (3, 16, 16)))
    assert hide(folder, out, "--features", "efficientnet-lite0") == 0
    encoded = read_release(out).encoded
    assert encoded.shape == (5, 1, 1)
    assert (encoded.images[:, 4] == 0).all()
    assert encoded.images[:, :4].abs().min(0).values.max() > 0


def test_files_that_are_passed_over_are_named_by_type(
    folder: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("cats/1.dcm", "cats/2.dcm", "notes.txt"):
        (folder / name).write_text("no picture")
    assert hide(folder, out) == 0
    assert capsys.readouterr().err.startswith(
        f"hideseek: 3 files were passed over in {folder}: 2 .dcm, 1 .txt; read DICOM files"
    )


def test_a_class_of_other_types_is_not_lost(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "birds").mkdir()
    (folder / "birds" / "1.gif").write_text("no picture")
    assert hide(folder, out) == 1
    assert "the subfolder 'birds' holds no JPEG, PNG, WebP, BMP or TIFF image but 1 .gif" in said(capsys)


def test_classes_are_named_before_anything_is_written(
    folder: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hideseek.cli.hide.write_release", stop)
        assert hide(folder, out) == 130
    assert capsys.readouterr().out == (
        "2 classes: cats (6 images), dogs (6 images); their names are shared too"
        " (--class-names numbers shares numbers).\n"
    )
    assert hide(folder, out, "--class-names", "numbers") == 0
    assert "2 classes: 0 = cats (6 images), 1 = dogs (6 images); numbers are shared" in capsys.readouterr().out
    assert json.loads((out / "release.json").read_text())["classes"] == 2
    assert b"cats" not in b"".join(path.read_bytes() for path in out.iterdir())
    assert read_release(out).encoded.labels.shape == (12, 2)


@pytest.mark.parametrize("more", [(), ("--class-names", "numbers")])
def test_classes_of_a_few_images_are_refused_unless_allowed(
    folder: Path, out: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder for each patient: the labels of rows would say whose they are, by name or by number."""
    picture(folder / "Anna Smith 1961" / "1.png")
    picture(folder / "Berta Jones 1970" / "1.png")
    picture(folder / "Berta Jones 1970" / "2.png")
    assert hide(folder, out, *more) == 1
    assert said(capsys) == (
        "hideseek: 2 classes have fewer than 5 images (Anna Smith 1961 (1 image), Berta Jones 1970 (2 images)), and"
        " labels would tell which rows hold them: put them into larger classes, or allow that with --least 1.\n"
    )
    assert not out.exists()
    assert hide(folder, out, *more, "--least", "2") == 1
    assert "1 class has fewer than 2 images (Anna Smith 1961 (1 image))" in said(capsys)
    assert hide(folder, out, *more, "--least", "0") == 1
    assert "--least must be at least 1" in said(capsys)
    assert hide(folder, out, *more, "--least", "1") == 0
    assert len(read_release(out).encoded) == 15


def test_small_classes_of_arrays_are_refused_and_absent_ones_are_not(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = np.random.default_rng(0).integers(0, 256, (13, 12, 12), dtype=np.uint8)
    path, asked = tmp_path / "a.npz", ["hide", "mixup", "--data", f"npz:{tmp_path}/a.npz", "--out", str(out)]
    np.savez(path, x=images, y=np.array([0] * 6 + [1] * 6 + [3]))
    assert main(asked) == 1
    assert "1 class has fewer than 5 images (3 (1 image))" in said(capsys)
    np.savez(path, x=images, y=np.array([0] * 6 + [3] * 7))
    assert main(asked) == 0
    assert "4 classes, which have no names, of 0 to 7 images." in capsys.readouterr().out


def test_images_without_classes_are_hidden_and_shown_and_attacked_but_not_learnt(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(12):
        picture(tmp_path / "flat" / f"patient-{i}.png", seed=i)
    assert hide(tmp_path / "flat", out, "--rounds", "4", "--keep-secret", str(tmp_path / "truth")) == 0
    assert "There are no classes: these images are hidden without labels" in capsys.readouterr().out
    assert read_release(out).encoded.labels.shape == (48, 0)
    assert main(["show", str(out)]) == 0
    assert main(["seek", "mixup-pairs", "--release", str(out), "--out", str(tmp_path / "found")]) == 0
    assert main(["score", str(tmp_path / "found"), "--secret", str(tmp_path / "truth")]) == 0
    capsys.readouterr()
    assert main(["learn", "--release", str(out), "--out", str(tmp_path / "trained")]) == 1
    assert "these images have no labels to learn from" in capsys.readouterr().err
    assert main(["learn", "--data", f"folder:{tmp_path}/flat", "--out", str(tmp_path / "other")]) == 1
    assert "so they have no classes; move each into a subfolder" in capsys.readouterr().err
    images = np.random.default_rng(0).integers(0, 4096, (12, 12, 12), dtype=np.uint16)
    np.savez(tmp_path / "a.npz", x=images, bits=12)  # as an X-ray is
    assert main(["hide", "mixup", "--data", f"npz:{tmp_path}/a.npz", "--out", str(tmp_path / "arrays")]) == 0
    assert read_release(tmp_path / "arrays").encoded.labels.shape == (12, 0)


def _text_called_jpg(folder: Path) -> None:
    (folder / "cats" / "patient-0.png").unlink()
    (folder / "cats" / "fake.jpg").write_text("no picture")


def _truncated_png(folder: Path) -> None:
    path = folder / "dogs" / "patient-2.png"
    path.write_bytes(path.read_bytes()[:200])


def _one_class(folder: Path) -> None:
    for path in (folder / "dogs").iterdir():
        path.unlink()
    (folder / "dogs").rmdir()


def _one_image(folder: Path) -> None:
    for path in sorted(folder.glob("*/*"))[1:]:
        path.unlink()


def _empty(folder: Path) -> None:
    for path in folder.glob("*/*"):
        path.unlink()


BAD_FOLDERS: list[tuple[str, Callable[[Path], object], str]] = [
    ("text called jpg", _text_called_jpg, "cats/fake.jpg"),
    ("truncated png", _truncated_png, "dogs/patient-2.png"),
    ("1×1 image", lambda folder: picture(folder / "cats" / "dot.png", (1, 1)), "cats/dot.png"),
    ("several sizes", lambda folder: picture(folder / "cats" / "wide.png", (20, 16)), "give one size for all images"),
    ("one class", _one_class, "holds the one class 'cats'"),
    ("one image", _one_image, "holds one image only"),
    ("empty", _empty, "holds no JPEG"),
]


@pytest.mark.parametrize(
    ("spoil", "sentence"), [case[1:] for case in BAD_FOLDERS], ids=[case[0] for case in BAD_FOLDERS]
)
def test_a_bad_folder_is_one_sentence(
    spoil: Callable[[Path], object], sentence: str, folder: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder)
    assert hide(folder, out) == 1
    assert sentence in said(capsys)
    assert not out.exists()


def test_an_unreadable_folder_is_one_sentence(
    folder: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("os.scandir", refuse)  # root may read everything, so a mode of 000 would not do
    monkeypatch.setattr("os.listdir", refuse)
    monkeypatch.setattr(Path, "iterdir", refuse)
    assert hide(folder, out) == 1
    assert "cannot be listed (Permission denied)" in said(capsys)


@pytest.mark.parametrize(
    ("scheme", "more", "sentence"),
    [
        ("mixup", ["--k", "13"], "k = 13"),
        ("instahide-inside", ["--largest", "0.2"], "c1 = 0.2"),
        ("instahide-cross", ["--private-share", "1.5", "--public", "folder:{folder}"], "c2 = 1.5"),
        ("instahide-cross", [], "--public"),
        ("instahide-cross", ["--public", "photos"], "32×32 with 3 channels"),
        ("mixup", ["--size", "0"], "a size must be 1 to"),
        ("mixup", ["--k", "1"], "would share the images as they are"),
        ("mixup", ["--public", "photos"], "mixes no public images"),
        ("mixup", ["--public", "photos", "--k-private", "2"], "mixes no public images"),
        ("singularized-mixup", ["--tau", "-1"], "tau"),
        ("mixup", ["--crop", "2"], "crop"),
    ],
)
def test_impossible_settings_are_one_sentence(
    scheme: str, more: list[str], sentence: str, folder: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hide(folder, out, *(word.format(folder=folder) for word in more), scheme=scheme) == 1
    assert sentence in said(capsys)
    assert not out.exists()


def test_an_output_folder_that_exists_is_kept(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out.mkdir()
    (out / "mine").write_text("x")
    assert hide(folder, out) == 1
    assert "exists already" in said(capsys)
    assert (out / "mine").read_text() == "x"


def test_a_secret_inside_the_release_is_refused(folder: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hide(folder, out, "--keep-secret", str(out / "secret")) == 1
    assert "would be shared" in said(capsys)
    assert not out.exists()


def test_show_says_what_is_wrong(folder: Path, out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path / "nowhere")]) == 1
    assert "no release.json" in said(capsys)
    hide(folder, out)
    capsys.readouterr()
    shard = out / "encoded-00000.safetensors"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 128
    shard.write_bytes(content)
    assert main(["show", str(out)]) == 1
    assert "is damaged" in said(capsys)
    about = json.loads((out / "release.json").read_text())
    (out / "release.json").write_text(json.dumps({**about, "format": 99}))
    assert main(["show", str(out)]) == 1
    assert "update hideseek" in said(capsys)
    assert main(["show", str(out), "--count", "0"]) == 1
    assert "--count" in said(capsys)


def test_show_works_from_inside_the_release(
    folder: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hide(folder, out)
    capsys.readouterr()
    monkeypatch.chdir(out)
    assert main(["show", "."]) == 0
    assert capsys.readouterr().out.strip() == str(out.with_name("out.png"))


@pytest.mark.parametrize("place", ["file/out", "x" * 300])
def test_an_impossible_place_is_one_sentence(
    place: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    assert hide(folder, tmp_path / place) == 1
    said(capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "images"]


def test_other_errors_of_the_system_are_one_sentence(
    folder: Path, out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error", "disk")

    monkeypatch.setattr("hideseek.cli.hide.write_release", fail)
    assert hide(folder, out) == 1
    assert said(capsys) == "hideseek: disk cannot be used: Input/output error.\n"


def test_a_full_disk_loses_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    try:
        (disk / "mine").write_text("x")
        assert hide(folder, disk / "out") == 1  # seen before it starts
        assert "no room for the release" in said(capsys)
        assert hide(folder, tmp_path / "out", "--keep-secret", str(disk / "secret"), "--size", "8") == 0
        capsys.readouterr()
        big = tmp_path / "big.npz"
        np.savez(big, x=np.zeros((20, 12, 12), np.uint8), y=np.arange(20) % 2)
        with pytest.MonkeyPatch.context() as patch:  # the estimate is right, and then someone else fills the disk
            patch.setattr(
                "hideseek.hide.files.release_files.need_space", lambda *_: (disk / "other").write_bytes(b"x" * 12_000)
            )
            code = main(["hide", "mixup", "--data", f"npz:{big}", "--out", str(disk / "out"), "--normalise", "none"])
        assert code == 1
        assert "is full" in said(capsys)
        assert (disk / "mine").read_text() == "x"
        assert sorted(path.name for path in disk.iterdir()) == ["mine", "other", "secret"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


SLOW_HIDE = textwrap.dedent("""
    import signal, sys, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore in the background
    from hideseek.cli import main
    from hideseek.hide.mixing import follow
    from hideseek.hide.files import shards
    shards.SHARD, follow.BLOCK = 1000, 500
    write = shards._write_shard
    shards._write_shard = lambda *batch: (time.sleep(0.3), write(*batch))[1]
    sys.exit(main(sys.argv[1:]))
""")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["Ctrl-C", "end", "kill"])
def test_a_run_that_is_stopped_leaves_no_release_and_can_be_repeated(
    how: signal.Signals, folder: Path, out: Path
) -> None:
    command = [sys.executable, "-c", SLOW_HIDE, "hide", "mixup", "--data", f"folder:{folder}", "--out", str(out)]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(out.parent.glob(".out.*.partial/out/encoded-00001*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(how)
    _, error = running.communicate(timeout=60)
    assert not out.exists()
    if how != signal.SIGKILL:
        assert running.returncode == 130
        assert error.strip() == "hideseek: stopped; what was not finished was removed."
        assert not list(out.parent.glob(".*"))
    else:
        assert len(list(out.parent.glob(".*"))) == 1
    assert hide(folder, out) == 0
    assert len(read_release(out).encoded) == 12
    assert not list(out.parent.glob(".*"))


def test_rows_and_labels_may_be_shared_less_exactly(folder: Path, out: Path) -> None:
    assert hide(folder, out, "--labels", "drawn", "--rows", "int8") == 0
    about = json.loads((out / "release.json").read_text())["scheme"]
    assert (about["mechanism"], about["labels"], about["rows"]) == ("coarse", "drawn", "int8")
    release = read_release(out)
    assert set(release.encoded.labels.flatten().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(("option", "value"), [("--labels", "blurred"), ("--rows", "int4")])
def test_other_ways_to_share_are_one_sentence(
    folder: Path, out: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hide(folder, out, option, value) == 2
    assert option in said(capsys)
    assert not out.exists()
