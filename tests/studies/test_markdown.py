"""The committed tables are what the committed figures give: nobody edits them by hand, or forgets to write them."""

import shutil
from pathlib import Path

import instahide
import privacy_utility
import pytest
import queries
import singularized
import singularized_features
from ledger import HERE, Ledger


@pytest.mark.parametrize(
    ("study", "title"),
    [
        ("instahide", "InstaHide"),
        ("singularized", "Singularized Mixup"),
        ("queries", ""),
        ("privacy_utility", privacy_utility.TITLE),
    ],
)
def test_the_tables_are_written_from_the_figures(study: str, title: str, tmp_path: Path) -> None:
    committed = HERE / "results" / f"{study}-cpu.json"
    copy = Path(shutil.copy(committed, tmp_path))
    ledger = Ledger.open(copy, title)
    if study == "instahide":
        instahide.render(ledger, instahide.SCALES["cpu"], copy)
    elif study == "queries":
        copy.with_suffix(".md").write_text(queries.markdown(ledger, *queries.SIZES["cpu"]), "utf-8")
    elif study == "privacy_utility":
        privacy_utility.render(ledger, copy, "cpu")
    else:
        singularized.render(ledger, singularized_features.SCALES["cpu"], copy)
    assert copy.with_suffix(".md").read_text() == committed.with_suffix(".md").read_text(), (
        f"python studies/{study}.py --render"
    )
