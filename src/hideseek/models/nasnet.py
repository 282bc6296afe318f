"""NASNet-A (Zoph, Vasudevan, Shlens and Le 2018), in the form for small images."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.models.classifier import Classifier, Shape, initialise

Maps = Float[Tensor, "n c h w"]
_BLOCKS = 6  # what a normal cell concatenates: its five sums, and the input that the sums leave unused


def convolved(inputs: int, outputs: int) -> nn.Sequential:
    """ReLU, 1×1 convolution, BatchNorm: the paper's order for every convolution in a cell."""
    return nn.Sequential(nn.ReLU(), nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))


def separable(width: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """Apply a depthwise-separable convolution twice (A.4), the stride in the first."""
    layers: list[nn.Module] = []
    for step in (stride, 1):
        depthwise = nn.Conv2d(width, width, kernel, step, kernel // 2, groups=width, bias=False)
        layers += [nn.ReLU(), depthwise, nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width)]
    return nn.Sequential(*layers)


def averaged(stride: int = 1) -> nn.AvgPool2d:
    """3×3 average pooling; the padding does not count."""
    return nn.AvgPool2d(3, stride, 1, count_include_pad=False)


class Halved(nn.Module):
    """Bring the input before last, still twice as large, to this cell's size without skipping a pixel's neighbours.

    Half of the channels see the pixels at even places, the others those at odd ones.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, 2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs - outputs // 2, 1, 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Maps) -> Maps:
        """Halve height and width."""
        x = torch.relu(x)
        shifted = nn.functional.pad(x, (-1, 1, -1, 1))  # one pixel up and left
        halved: Tensor = self.norm(torch.cat([self.even(x), self.odd(shifted)], 1))
        return halved


class Cell(nn.Module):
    """Bring both inputs to one width and size, h (the last) and p (the one before), and combine them."""

    def __init__(self, last: int, before: int, width: int, *, halve: bool) -> None:
        super().__init__()
        self.last = convolved(last, width)
        self.before = Halved(before, width) if halve else convolved(before, width)


class NormalCell(Cell):
    """The normal cell of NASNet-A (Figure 4, left)."""

    def __init__(self, last: int, before: int, width: int, *, halve: bool) -> None:
        super().__init__(last, before, width, halve=halve)
        self.three = nn.ModuleList([separable(width, 3) for _ in range(3)])
        self.five = nn.ModuleList([separable(width, 5) for _ in range(2)])
        self.average = averaged()

    def forward(self, last: Maps, before: Maps) -> Maps:
        """Give the five sums and p."""
        h, p = self.last(last), self.before(before)
        average = self.average(p)
        sums = [
            self.three[0](h) + h,
            self.three[1](p) + self.five[0](h),
            self.average(h) + p,
            average + average,
            self.five[1](p) + self.three[2](p),
        ]
        return torch.cat([p, *sums], 1)


class ReductionCell(Cell):
    """The reduction cell of NASNet-A (Figure 4, right)."""

    def __init__(self, last: int, before: int, width: int, *, halve: bool) -> None:
        super().__init__(last, before, width, halve=halve)
        self.three = separable(width, 3)
        self.five = nn.ModuleList([separable(width, 5, 2) for _ in range(2)])
        self.seven = nn.ModuleList([separable(width, 7, 2) for _ in range(2)])
        self.largest = nn.MaxPool2d(3, 2, 1)
        self.halved_average, self.average = averaged(2), averaged()

    def forward(self, last: Maps, before: Maps) -> Maps:
        """Give the four sums that no other sum uses up, at half the size."""
        h, p = self.last(last), self.before(before)
        first = self.seven[0](p) + self.five[0](h)
        second = self.largest(h) + self.seven[1](p)
        third = self.halved_average(h) + self.five[1](p)
        return torch.cat([second, third, self.average(first) + second, self.three(first) + self.largest(h)], 1)


class Cells(nn.Module):
    """Chain cells, each fed with the outputs of the two before it; the first, twice with the stem's."""

    def __init__(self, stem: int, repeats: int, width: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList()
        before = last = stem
        for stage in range(3):
            for place in range(repeats):
                self.cells.append(NormalCell(last, before, width, halve=stage > 0 and place == 0))
                before, last = last, _BLOCKS * width
            if stage < 2:
                width *= 2
                self.cells.append(ReductionCell(last, before, width, halve=False))
                before, last = last, 4 * width

    def forward(self, stem: Maps) -> Maps:
        """Give the last cell's output."""
        before = last = stem
        for cell in self.cells:
            before, last = last, cell(last, before)
        return last


def nasnet(shape: Shape, classes: int, repeats: int = 6, width: int = 32) -> Classifier:
    """Build NASNet-A (6 @ 768): N normal cells, reduction, N, reduction, N, on a 3×3 stem of 3 `width` channels.

    `width` is that of the first cells; it doubles at each reduction, so that the last maps have 24 `width` = 768
    channels. 3.3 million parameters (Table 1).
    Deviation: without ScheduledDropPath and the auxiliary head, which only training uses and only with 600 epochs.
    InstaHide's authors trained a public version of size 4 @ 1056 without them too, `repeats=4, width=44`; it differs
    from Figure 4 in one sum.
    """
    stem = 3 * width
    features = nn.Sequential(
        nn.Conv2d(shape[0], stem, 3, padding=1, bias=False),
        nn.BatchNorm2d(stem),
        Cells(stem, repeats, width),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )
    network = Classifier(features, nn.Linear(4 * width * _BLOCKS, classes))
    initialise(network)
    return network
