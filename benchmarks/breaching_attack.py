"""breaching 0.1.2 (Geiping et al.), where it can be imported: its attacks on the same gradients as ours.

The wheel's attack classes need torch alone; its package also imports torchvision and hydra, for data and settings,
which are left out here: empty packages stand in their place, and settings are read from the wheel's own files.
"""

import importlib
import importlib.util
import sys
import time
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hideseek.records.samples import Normalisation


class Settings(dict[str, Any]):
    """A mapping whose values are attributes too, as breaching reads its settings."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @classmethod
    def nested(cls, found: Mapping[str, Any]) -> "Settings":
        """Wrap every level: breaching passes over, without a word, what it cannot read."""
        return cls({key: cls.nested(value) if isinstance(value, dict) else value for key, value in found.items()})


@dataclass(frozen=True)
class Breaching:
    """breaching, imported."""

    attacks: Any
    folder: Path

    def settings(self, preset: str, steps: int, total_variation: float | None, rate: float | None = None) -> Settings:
        """Read a preset of the wheel, with steps, the weight of total variation and the step size of our choice."""
        found: dict[str, Any] = {}
        for name in ("_default_optimization_attack", preset):
            text = (self.folder / "config" / "attack" / f"{name}.yaml").read_text()
            _merge(found, _read(text))
        found = _empty_as_none(found)
        found["optim"]["max_iterations"] = steps
        found["optim"]["callback"] = steps + 1
        found["optim"]["warmup"] = min(found["optim"]["warmup"], steps // 8)
        if rate is not None:
            found["optim"]["step_size"] = rate
        if total_variation is not None:
            found["regularization"]["total_variation"]["scale"] = total_variation
        return Settings.nested(found)

    def invert(
        self, network: nn.Module, update: Mapping[str, Tensor], labels: Tensor, shape: tuple[int, int, int],
        normalisation: Normalisation, settings: Settings,
    ) -> tuple[Tensor, float]:  # fmt: skip
        """Give images, and the processor's seconds that they took."""
        constants = {"mean": normalisation.mean, "std": normalisation.std} if normalisation.kind == "channel" else {}
        about = Settings(shape=shape, modality="vision", task="classification", **constants)
        parameters = [each.detach() for each in network.parameters()]
        payload = [{"parameters": parameters, "buffers": list(network.buffers()), "metadata": about}]
        shared = [
            {
                "gradients": [update[name] for name, _ in network.named_parameters()],
                "buffers": None,
                "metadata": {"num_data_points": len(labels), "labels": labels.argmax(1), "local_hyperparams": None},
            }
        ]
        setup = {"dtype": torch.float, "device": torch.device("cpu")}
        attacker = self.attacks.prepare_attack(network, nn.CrossEntropyLoss(), settings, setup)
        started = time.process_time()
        found, _ = attacker.reconstruct(payload, shared, {})
        return found["data"].detach(), time.process_time() - started


def _read(text: str) -> dict[str, Any]:
    """Read what the wheel's settings use of YAML: nested keys, and plain values."""
    found: dict[str, Any] = {}
    open_at: list[tuple[int, dict[str, Any]]] = [(-1, found)]
    for raw in text.splitlines():
        line = raw.split("#")[0].rstrip()
        if not line or line.lstrip().startswith("- "):
            continue
        depth, (key, _, value) = len(line) - len(line.lstrip()), line.strip().partition(":")
        while open_at[-1][0] >= depth:
            open_at.pop()
        if value.strip():
            open_at[-1][1][key] = _value(value.strip())
        else:
            open_at[-1][1][key] = {}
            open_at.append((depth, open_at[-1][1][key]))
    return found


def _empty_as_none(found: dict[str, Any]) -> dict[str, Any]:
    """Take keys without a value for None, once all files are read."""
    return {key: (_empty_as_none(value) or None) if isinstance(value, dict) else value for key, value in found.items()}


def _value(text: str) -> Any:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        number = float(text)
    except ValueError:
        return text.strip("'\"")
    return int(number) if number.is_integer() and "." not in text and "e" not in text else number


def _merge(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def find_breaching(folder: Path | None) -> Breaching | None:
    """Import breaching, from a folder or as it is installed; None where it is not there."""
    if folder is not None:
        sys.path.insert(0, str(folder))
    found = importlib.util.find_spec("breaching")
    if found is None or not found.submodule_search_locations:
        return None
    root = Path(next(iter(found.submodule_search_locations)))
    for name in ("breaching", "breaching.cases", "breaching.cases.models"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    return Breaching(importlib.import_module("breaching.attacks"), root)
