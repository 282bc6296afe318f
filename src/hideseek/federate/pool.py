"""The server's pool: a folder for the encodings of every party, in which a release grows shard by shard."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import DESCRIPTION
from hideseek.federate.description import LONGEST, check_description, largest_number
from hideseek.files import new_file, own_folder, parsed
from hideseek.hide.files.release_checks import HEADER, checked_content, read_description, wanted_tensors
from hideseek.hide.files.release_files import read_release
from hideseek.hide.files.shards import shard_name
from hideseek.records import Samples


@dataclass(frozen=True)
class Delivery:
    """What one party sends in one round: a release, of which some shards may still be missing."""

    folder: Path
    agreement: Agreement

    def describe(self, text: str) -> None:
        """Keep the description of what will come, after checking that it is what was agreed on."""
        path = self.folder / DESCRIPTION
        if len(text) > LONGEST:
            raise BadInput("its description is too long")
        own_folder(self.folder)
        try:
            if not path.exists():
                parsed(text)
                with new_file(path) as file:
                    file.write(text.encode())
            check_description(
                read_description(self.folder), self.agreement
            )  # also of one that a server wrote before it was stopped
        except ValueError:
            path.unlink(missing_ok=True)
            raise BadInput("its description cannot be read") from None
        except BadInput as mistake:
            path.unlink(missing_ok=True)
            raise BadInput(str(mistake).replace(str(path), "its description")) from None

    @property
    def about(self) -> dict[str, Any]:
        """Read the description."""
        return read_description(self.folder)

    def digests(self) -> set[str]:
        """Give the checksums of all shards."""
        return {each["blake3"] for each in self.about["shards"]}

    def missing(self) -> list[int]:
        """Give the numbers of the shards that are not here yet."""
        return [place for place in range(len(self.about["shards"])) if not (self.folder / shard_name(place)).exists()]

    def accept(self, place: int, content: bytes) -> None:
        """Keep a shard, after checking it: its checksum, its shapes, finite numbers, labels."""
        about = self.about
        shard, path = about["shards"][place], self.folder / shard_name(place)
        if path.exists():
            raise BadInput(f"it sends the shard {place} a second time")
        if [each["blake3"] for each in about["shards"]].count(shard["blake3"]) > 1:
            raise BadInput(f"it sends the shard {place} under several numbers")
        scheme = check_description(about, self.agreement)
        wanted = wanted_tensors(about, scheme)
        row = sum(
            torch.empty(0, dtype=kind).element_size() * torch.Size(shape).numel() for kind, shape in wanted.values()
        )
        if len(content) > shard["rows"] * row + HEADER or blake3(content).hexdigest() != shard["blake3"]:
            raise BadInput(f"the shard {place} is not what it described")
        images = checked_content(
            content, f"the shard {place}", shard, wanted, noisy_labels=scheme.label_kind == "noisy"
        )["images"]
        if images.is_floating_point() and float(images.abs().max()) > (most := largest_number(self.agreement, scheme)):
            raise BadInput(f"the shard {place} holds numbers above {most:.3g}, which no encoding of images has")
        with new_file(path) as file:  # whole or not at all, and only what was checked
            file.write(content)

    def rows(self) -> Samples:
        """Read all rows, after checking them once more."""
        return read_release(self.folder).encoded


def pooled(deliveries: list[Delivery]) -> Samples:
    """Put the rows of several parties behind each other, in memory that is made once."""
    counts = [delivery.about["rows"] for delivery in deliveries]
    whole: Samples | None = None
    start = 0
    for delivery, count in zip(deliveries, counts, strict=True):
        rows = delivery.rows()
        if whole is None:
            images, labels = torch.empty(sum(counts), *rows.shape), torch.empty(sum(counts), rows.labels.shape[1])
            whole = replace(rows, images=images, labels=labels)
        whole.images[start : start + count] = rows.pixels()
        whole.labels[start : start + count] = rows.labels
        start += count
    if whole is None:
        raise BadInput("no party sent its encodings: there is nothing to train on.")
    return whole
