"""A ResNet that a processor trains in minutes."""

from hideseek.models.classifier import Classifier, Shape
from hideseek.models.resnet import resnet, small_stem


def small_resnet(shape: Shape, classes: int) -> Classifier:
    """Build a ResNet of 5.2 million multiply-adds on 3×32×32: blocks of 16, 48 and 96 channels on a stem of stride 2.

    No paper has it. Its shape was chosen among five shapes by a training of two epochs on CIFAR-10 (batch 128, one
    cycle up to a rate of 0.2, flips): 70.3 % right. The same with the stem at full size, and strides after it, has
    71.1 % and takes 1.7 times as long; narrower, without the block at 16×16, it has 69.3 % in 0.9 of the time. It takes
    some 3,000 images a second on two AVX2 cores, channels last, and seven times as many as resnet20 in the same run.
    """
    return resnet(small_stem(shape[0], 16, 2), 16, [(16, 1, 1), (48, 1, 2), (96, 1, 2)], classes)
