"""The images that verbs name, loaded, made features where asked, and normalised."""

from pathlib import Path
from typing import Any

from hideseek.data import load, normalise
from hideseek.data.address import with_label_column
from hideseek.data.shaping import Size
from hideseek.records import Normalisation, Samples
from hideseek.records.gallery import anonymous


def training_images(
    data: str,
    how: Normalisation | str,
    *,
    size: int | None = None,
    channels: int | None = None,
    features: str | None,
    labelled: bool = True,
) -> Samples:
    """Load images, from an address, for training or hiding."""
    return prepared(load(data, size=size, channels=channels, labelled=labelled), how, features)


def public_images(public: str, private: Samples, *, size: Size | None, features: str | None) -> Samples:
    """Load public images with the channels of the private ones, normalised by the same constants."""
    if features is not None:
        return prepared(anonymous(load(public, size=size, labelled=False)), private.normalisation, features)
    wanted: Size | None = private.shape[1:] if public.startswith("patches:") else size
    loaded = load(public, size=wanted, channels=private.shape[0], labelled=False)
    return prepared(anonymous(loaded), private.normalisation, None)


def by_column(address: str | None, column: str | None) -> Any:
    """Put the column that has the labels into an address, where there is one."""
    return None if address is None else with_label_column(address, column)


def prepared(samples: Samples, how: Normalisation | str, features: str | None) -> Samples:
    """Take the features of images, where these are wanted, and normalise."""
    if features is not None:
        from hideseek.models.features import extract

        samples = extract(samples, extractor(features))
    return normalise(samples, how)  # type: ignore[arg-type] # a name is checked by the command line


def extractor(name: str):  # type: ignore[no-untyped-def]
    """Find a feature extractor by its name, or in the file of a trained model."""
    from hideseek.models import features

    if name == "efficientnet-lite0":
        return features.efficientnet_lite0()
    from hideseek.train.trained import read_model

    trained, _ = read_model(Path(name))
    return features.own_extractor(trained.network, trained.shape, trained.normalisation)
