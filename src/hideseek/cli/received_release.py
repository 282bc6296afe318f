"""What somebody else shared, read as it is: a release, a challenge, or rows in a file."""

from hideseek.challenge.files import ENCRYPTION, read_challenge
from hideseek.challenge.received import read_rows
from hideseek.cli.release_options import AuditRelease
from hideseek.errors import BadInput
from hideseek.hide.files.release_files import read_release
from hideseek.hide.named import schemes
from hideseek.records import EncodedRelease, MixingEncoder, Samples

DESCRIPTION = "release.json"


def received(asked: AuditRelease) -> tuple[EncodedRelease, bool]:
    """Read what was shared, and tell whether it states itself how it was made."""
    place, scheme = asked.release, None if asked.scheme is None else _scheme(asked.scheme)
    about_rows = {"--labels": asked.labels, "--layout": asked.layout}
    if place.is_dir():
        for name in (name for name, value in about_rows.items() if value is not None):
            raise BadInput(f"{name} is of rows in a file, and {place} is a folder: leave it out.")
        if (place / DESCRIPTION).is_file():
            for name, value in {"--scheme": asked.scheme, "--images": asked.images}.items():
                if value is not None:
                    raise BadInput(f"{place} says itself how it was made: leave {name} out.")
            return read_release(place), True
        if (place / ENCRYPTION).is_file():
            challenge = read_challenge(place, scheme, asked.images)
            return challenge.release, challenge.seal is not None
        raise BadInput(
            f"{place} has neither {DESCRIPTION} nor {ENCRYPTION} in it: name a release, a challenge or a file."
        )
    if not place.exists():
        raise BadInput(f"there is no file {place}: check the path.")
    if (place.parent / DESCRIPTION).is_file():
        raise BadInput(f"{place} is a part of a release, which says itself how it was made: name {place.parent}.")
    if scheme is None:
        raise BadInput(f"{place} does not say how its rows were made: name the scheme, as in --scheme mixup:k=4.")
    read = read_rows(place, asked.labels, asked.layout, scheme.images_per_row.private)
    count = len(read.images)
    if asked.images is not None and not 2 <= asked.images <= count:
        raise BadInput(f"--images must be from 2 to the number of rows, {count:,}, not {asked.images:,}.")
    rounds = 1 if asked.images is None else max(1, round(count / asked.images))
    return EncodedRelease(Samples(read.images, read.labels), scheme, None, rounds), False


def _scheme(name: str) -> MixingEncoder:
    return next(iter(schemes(name).values()))
