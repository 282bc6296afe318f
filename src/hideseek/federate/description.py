"""What a party says of the encodings that it will send, held against the agreement: by its gate, and by the server."""

import json
import math
from dataclasses import asdict
from typing import Any

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.files import parsed
from hideseek.hide import RecipeEncoder
from hideseek.hide.files.release_checks import has_form
from hideseek.hide.files.schemes import from_json, to_json

LONGEST = 1 << 22  # characters of a description
DIGEST = 64  # hexadecimal digits
DEVIATIONS = 40.0  # of noise that no number of an honest row reaches
LARGEST_FEATURE, LARGEST = 1e4, 1e7


def canonical(text: str) -> dict[str, Any]:
    """Read a description that is written as `write_release` does, to the last blank: nothing else fits into it."""
    if len(text) > LONGEST:
        raise BadInput("the description is too long")
    try:
        about = parsed(text)
        if not has_form(about) or text != json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False):
            raise ValueError
        scheme = from_json(about["scheme"])
        if json.dumps(to_json(scheme)) != json.dumps(about["scheme"]):
            raise ValueError
        if about.get("proved", []) != [asdict(each) for each in scheme.bounds(())]:
            raise ValueError
    except (ValueError, KeyError, TypeError):
        raise BadInput("the description is not what describes encodings, or holds something beside it") from None
    digests = [each["blake3"] for each in about["shards"]] + ([about["public"]["blake3"]] if about["public"] else [])
    if not all(len(each) == DIGEST and set(each) <= set("0123456789abcdef") for each in digests):
        raise BadInput("the description has checksums that are none")
    return about  # type: ignore[no-any-return]


def check_description(about: dict[str, Any], agreement: Agreement) -> RecipeEncoder:
    """Refuse what is not what was agreed on; give the scheme, in which what was left open is filled in."""
    scheme, agreed = from_json(about["scheme"]), agreement.scheme
    if not isinstance(agreed, RecipeEncoder) or not isinstance(scheme, RecipeEncoder):
        raise BadInput("encodings are described where updates were agreed on")
    stated = to_json(scheme)
    for name, value in to_json(agreed).items():
        if value is not None and stated.get(name) != value:
            raise BadInput(f"its scheme has {name} = {stated.get(name)!r}, agreed was {value!r}")
    classes = about["classes"] if isinstance(about["classes"], list) else len(agreement.classes)
    wanted = {
        "shape": list(agreement.shape),
        "classes": list(agreement.classes) if isinstance(classes, list) else len(agreement.classes),
        "normalisation": json.loads(json.dumps(vars(agreement.normalisation))),
    }
    for name, value in wanted.items():
        if about[name] != value:
            raise BadInput(f"its {name} are not those that were agreed on")
    if about["rows"] > agreement.most_rows:
        raise BadInput(f"it sends {about['rows']:,} encodings, agreed were at most {agreement.most_rows:,}")
    if min(each["rows"] for each in about["shards"]) < 1:
        raise BadInput("it describes shards without encodings")
    if about.get("rounds", 1) != 1 or about.get("given_away"):
        raise BadInput("it sends several encodings of an image, or what should stay secret")
    public = None if agreement.public is None else agreement.public.digest
    if (about["public"] or {"blake3": None})["blake3"] != public:
        raise BadInput("it mixed other public images than were agreed on")
    return scheme


def largest_number(agreement: Agreement, scheme: RecipeEncoder) -> float:
    """Give what no number of an honest row exceeds: mixtures are within the range of pixels, and noise is known."""
    constants, pixels = agreement.normalisation, math.prod(agreement.shape)
    if agreement.features is not None:
        most = LARGEST_FEATURE
    elif constants.kind == "channel":
        most = max(max(mean, 1 - mean) / std for mean, std in zip(constants.mean, constants.std, strict=True))
    else:
        most = 1.0 if constants.kind == "none" else math.sqrt(pixels)
    noise = scheme.noise(pixels)
    if noise is not None:
        most += math.sqrt(noise.variance) * max(DEVIATIONS, math.sqrt(pixels))
    return min(1.01 * most, LARGEST)
