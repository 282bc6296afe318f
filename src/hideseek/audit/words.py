"""What figures say, in one sentence that anybody can read."""

from collections.abc import Sequence

from hideseek.audit.findings.figures import HARM
from hideseek.audit.planning.clock import OutOfTime
from hideseek.errors import BadInput
from hideseek.records.result import Figure


def sentence(found: Sequence[Figure], images: int) -> str:
    """Say in one sentence what an attack found, or that it found nothing."""
    by_name = {figure.metric: figure for figure in reversed(found)}  # of several claims the first counts
    telling = [
        _TELL[figure.kind](by_name, images) for figure in _worst_first(found) if figure.decisive and figure.beats
    ]
    if telling:
        told = "; ".join(dict.fromkeys(telling))
        return f"{told[:1].upper()}{told[1:]}."
    decisive = [figure for figure in found if figure.decisive]
    tried = min(decisive, key=lambda figure: 1.0 if figure.p_value is None else figure.p_value, default=None)
    if tried is None:
        return "Nothing that it claims could be judged."
    if tried.advantage is not None and tried.advantage.low > 0:
        return f"Better than {tried.best_baseline or 'chance'}, but not beyond p_value: {_against(tried)}."
    return f"Not shown to beat {tried.best_baseline or 'chance'}: {_against(tried)}."


def _worst_first(found: Sequence[Figure]) -> list[Figure]:
    return sorted(found, key=lambda figure: -HARM[figure.kind])


def _against(figure: Figure) -> str:
    """Put a figure beside its baseline.

    >>> from hideseek.records.result import Range
    >>> one = Range(0.5, 0.4, 0.6, 9)
    >>> _against(Figure("ssim", "Reconstruction", 0, "", True, "", one, {"mean": 0.1}, "mean", None, 0, True, True))
    'ssim 0.50 (0.40 to 0.60), baseline 0.10'
    """
    found, baseline = figure.found, figure.baselines.get(figure.best_baseline)
    limits = (
        f"{number(found.mean, figure.unit)} ({number(found.low, figure.unit)} to {number(found.high, figure.unit)})"
    )
    return f"{figure.metric} {limits}" + (f", baseline {number(baseline, figure.unit)}" if baseline is not None else "")


def number(value: float, unit: str) -> str:
    """Write a number as people read it.

    >>> number(0.1234, "share"), number(0.002, "share"), number(3.14159, "dB"), number(0.5, "")
    ('12 %', '0.2 %', '3.1 dB', '0.50')
    """
    if unit == "share":
        return f"{100 * value:.{0 if abs(value) >= 0.095 or value == 0 else 1}f} %"
    return f"{value:.1f} {unit}" if unit in ("dB", "place") else f"{value:.2f}"


def _images(by_name: dict[str, Figure], images: int) -> str:
    """Say how many images come back, how many are known again, and how alike guesses are: whatever beats its baseline."""
    told = []
    if (back := _beating(by_name, "recovered")) is not None:
        told.append(f"{number(back.found.mean, 'share')} of its guesses are the private image (correlation ≥ 0.9)")
    if (known := _beating(by_name, "re-identified")) is not None:
        told.append(
            f"{number(known.found.mean, 'share')} of its guesses point to their image among {images:,}"
            f" ({number(known.baselines[known.best_baseline], 'share')} by chance)"
        )
    alike = {"fitted-ssim": "SSIM", "absolute-correlation": "correlation of absolute values"}
    for name, words in alike.items():
        if (figure := _beating(by_name, name)) is not None:
            baseline = number(figure.baselines[figure.best_baseline], "")
            told.append(f"{words} {number(figure.found.mean, '')} against {baseline} without a clue")
            break
    return ", ".join(told)


def _beating(by_name: dict[str, Figure], name: str) -> Figure | None:
    figure = by_name.get(name)
    return figure if figure is not None and figure.beats else None


def _rows(by_name: dict[str, Figure], images: int) -> str:
    area, few = by_name["auc"], by_name.get("tpr@fpr=0.01")
    caught = f", and finds {number(few.found.mean, 'share')} of them at 1 % false alarms" if few is not None else ""
    baseline = number(area.baselines[area.best_baseline], "")
    by = "by chance" if area.best_baseline == "chance" else f"by {area.best_baseline}"
    return f"it tells which rows share an image (area {number(area.found.mean, '')}, {baseline} {by}{caught})"


def _named(by_name: dict[str, Figure], images: int) -> str:
    figure = by_name["accuracy"]
    chance = number(figure.baselines[figure.best_baseline], "share")
    by = "by chance" if figure.best_baseline == "chance" else f"by {figure.best_baseline}"
    return f"it says whose encoding a row is in {number(figure.found.mean, 'share')} of rows ({chance} {by})"


def _partners(by_name: dict[str, Figure], images: int) -> str:
    figure = by_name["hit@1"]
    chance = number(figure.baselines[figure.best_baseline], "share")
    return (
        f"its first guess is a public image of the row in {number(figure.found.mean, 'share')} of rows"
        f" ({chance} by chance)"
    )


def _signs(by_name: dict[str, Figure], images: int) -> str:
    return f"it restores signs: {number(by_name['wrong-signs'].found.mean, 'share')} are wrong, 50 % by chance"


_TELL = {
    "Reconstruction": _images,
    "Links": _rows,
    "Attribution": _named,
    "PublicImagesFound": _partners,
    "Masks": _signs,
}


def reason_of(error: Exception) -> str:
    """Say why an attack failed.

    >>> reason_of(BadInput("it needs weights.")), reason_of(ValueError("shapes"))
    ('It needs weights.', 'It failed (ValueError: shapes).')
    """
    text = str(error)
    if isinstance(error, OutOfTime):
        return "It was stopped, since its time was over: give a larger --budget."
    if isinstance(error, BadInput):
        return text[:1].upper() + text[1:]
    return f"It failed ({type(error).__name__}: {text})."
