"""What is published: built without a warning, it runs from the wheel alone, in an environment of its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PUBLISHED = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md", "constraints.txt", "pyproject.toml")
NOT_OURS = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PIP_CONSTRAINT")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def run(*command: str | Path, where: Path) -> str:
    """Run a program without what this run of the tests has set, and give all that it printed."""
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sources and the wheel from a copy, and give their folder."""
    place = tmp_path_factory.mktemp("build")
    for name in PUBLISHED:
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / "src", place / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    said = run(sys.executable, "-m", "build", "--no-isolation", place, where=place)
    assert not [line for line in said.splitlines() if "warn" in line.lower()]
    return place / "dist"


def test_everything_is_in_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    sources = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    ours = {path.relative_to(ROOT / "src").as_posix() for path in sources if ".egg-info" not in str(path)}
    assert ours <= inside
    assert {name.split("/")[0] for name in inside} == {"hideseek", f"hideseek-{VERSION}.dist-info"}
    assert {f"hideseek-{VERSION}.dist-info/licenses/{name}" for name in ("LICENSE", "CITATION.cff")} <= inside
    (sources_built,) = built.glob("*.tar.gz")
    with tarfile.open(sources_built) as archive:
        assert {f"hideseek-{VERSION}/{name}" for name in PUBLISHED} <= set(archive.getnames())


def test_the_demo_runs_from_the_wheel_alone(built: Path, tmp_path: Path) -> None:
    """What hideseek depends on is taken from this environment by its path; hideseek itself is not."""
    venv.create(tmp_path / "env", symlinks=True, with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    (wheel,) = built.glob("*.whl")
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, where=tmp_path)
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    place = run(python, "-c", "import hideseek; print(hideseek.__file__)", where=tmp_path)
    assert Path(place.strip()) == packages / "hideseek" / "__init__.py"

    hideseek = tmp_path / "env" / "bin" / "hideseek"
    assert run(hideseek, "--version", where=tmp_path).strip() == VERSION
    said = run(hideseek, "demo", "--schemes", "mixup", "--rounds", "2", "--budget", "1s", where=tmp_path)
    assert "broken" in said
    assert {"report.html", "result.json", "faces.png"} <= {path.name for path in (tmp_path / "demo").iterdir()}


def test_the_changelog_has_what_is_published() -> None:
    headings = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("## ")]
    assert headings[0] == "## Unreleased" or headings[0].startswith(f"## {VERSION} (")
