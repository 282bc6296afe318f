"""Messages between parties and server, whatever carries them: groups of tensors, of numbers and of words."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from blake3 import blake3
from torch import Tensor

from hideseek.files import content

# the kinds of messages that a server sends, and names in them
UPDATE, DESCRIBE, SHARD, JUDGE, TAKE = "train", "query.describe", "query.shard", "evaluate", "query.take"
CONFIG, METRICS, EXAMPLES = "config", "metrics", "num-examples"
DECIMALS = 4  # of shares, such as an accuracy

Number = int | float
Word = str | bytes | bool | int | float


@dataclass(frozen=True)
class Message:
    """What one side sends to the other.

    Groups have names, and so has all that is in them: `tensors["update"]["conv.weight"]`. `error` is set, and nothing
    else, where the other side could not answer.
    """

    kind: str
    """What it asks for, or answers to: `train`, `query.shard`, …"""
    tensors: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    numbers: Mapping[str, Mapping[str, Number | list[Number]]] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Word | list[Word]]] = field(default_factory=dict)
    error: str = ""
    carried: int = field(default=0, compare=False)
    """Bytes that its tensors took on their way, where it came from somewhere."""

    def size(self) -> int:
        """Count the bytes of tensors, as they were carried if they were, and roughly those of the rest."""
        held = self.carried or sum(tensor.numel() * tensor.element_size() for _, _, tensor in self.named_tensors())
        said = [repr(value) for group in (*self.numbers.values(), *self.words.values()) for value in group.values()]
        return held + sum(map(len, said)) + len(self.error)

    def named_tensors(self) -> Iterator[tuple[str, str, Tensor]]:
        """Give every tensor with its group and name, in their order."""
        for group, tensors in sorted(self.tensors.items()):
            for name, tensor in sorted(tensors.items()):
                yield group, name, tensor

    @cached_property
    def digests(self) -> dict[tuple[str, str], str]:
        """Give the BLAKE3 checksum of every tensor's bytes."""
        found = {}
        for group, name, tensor in self.named_tensors():
            plain = tensor.detach().cpu().contiguous()
            values = plain.view(torch.int16).numpy() if plain.dtype == torch.bfloat16 else plain.numpy()
            found[group, name] = blake3(content(values)).hexdigest()
        return found

    def digest(self) -> str:
        """Give a checksum of all of it."""
        total = blake3(f"{self.kind}\0{self.error}".encode())
        for group, name, tensor in self.named_tensors():
            about = f"{group}\0{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0{self.digests[group, name]}"
            total.update(about.encode())
        for groups in (self.numbers, self.words):
            for group, values in sorted(groups.items()):
                total.update(f"{group}\0{sorted(values.items())!r}".encode())
        return total.hexdigest()


def number(message: Message, group: str, name: str) -> float:
    """Give a number of a message; NaN where it has none."""
    found = message.numbers.get(group, {}).get(name, math.nan)
    return float(found) if isinstance(found, int | float) else math.nan


def word(message: Message, group: str, name: str) -> str:
    """Give a text of a message; empty where it has none."""
    found = message.words.get(group, {}).get(name, "")
    return found if isinstance(found, str) else ""
