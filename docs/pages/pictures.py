"""Pictures that are made while the site is built: what every mechanism does to the embedded faces."""

from collections.abc import Iterator
from io import BytesIO

from hideseek.chance import seeded
from hideseek.cli.demo import SHOWN, STAGES, stages
from hideseek.data import load, normalise
from hideseek.report import Row, contact_sheet

FACES = 2


def hidden_faces() -> Iterator[tuple[str, bytes]]:
    """Give a picture for every mechanism: some faces, mixed, as they would be shared, and in absolute values."""
    private = normalise(load("faces"), "channel")
    patches = load("patches:photos?each=1", size=private.shape[1:], channels=1, labelled=False)
    public = normalise(patches, private.normalisation)
    rows: dict[str, list[Row]] = {}
    for name, scheme in SHOWN.items():
        tiles = stages(scheme, private, public, seeded(0), FACES)
        rows.setdefault(scheme.mechanism, []).append(Row(name, tiles))
    for mechanism, of_schemes in rows.items():
        file = BytesIO()
        contact_sheet("", STAGES * FACES, of_schemes, group=len(STAGES)).save(file, "PNG")
        yield mechanism, file.getvalue()
