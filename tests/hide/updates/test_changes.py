"""What clients are advised to change, how large what they share is, and the weak cases of attacks on it."""

from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.updates import GradientNoise, GradientPruning, ShareUpdates, Sign
from hideseek.models import build
from hideseek.records import Samples
from hideseek.records.encoder import ChangeKind
from hideseek.records.shared_model import network_size


def test_changes_of_an_undefended_client() -> None:
    scheme = ShareUpdates("lenet", batch=4)
    changes = list(scheme.stronger(3))
    assert [(change.parameter, change.before, change.after) for change, _, _ in changes] == [
        ("batch", 4, 16),
        ("local_steps", 1, 4),
        ("p", None, 0.99),
        ("noise", None, 0.01),
        ("k", None, 4),
    ]
    assert all(rounds == 3 for _, _, rounds in changes)
    schemes = [after for _, after, _ in changes]
    assert schemes[1] == ShareUpdates("lenet", batch=4, local_steps=4, sends="weights")
    assert schemes[4] == ShareUpdates("lenet", batch=4, encoding=InstaHide(k=4, largest=0.65))


def test_defences_that_there_are_become_stronger() -> None:
    defences = GradientPruning(0.99), Sign(), GradientNoise(noise=0.1)
    scheme = ShareUpdates("lenet", batch=16, encoding=Mixup(), defences=defences)
    larger, _, pruned, noisy = scheme.stronger(1)
    assert (larger[0].before, larger[0].after) == (16, 64)
    assert pruned[1] == ShareUpdates(
        "lenet", batch=16, encoding=Mixup(), defences=(GradientPruning(0.999), *defences[1:])
    )
    assert pruned[0].kind is ChangeKind.STRONGER_DEFENCE
    assert (noisy[0].kind, noisy[0].after) == (ChangeKind.MORE_NOISE, 1.0)
    (_, again), *_ = [each[:2] for each in pruned[1].stronger(1) if each[0].parameter == "p"]
    assert isinstance(again, ShareUpdates)
    assert again.defences[0] == GradientPruning(1 - (1 - 0.999) / 10)


@pytest.mark.parametrize("model", ["linear", "lenet", "small-resnet"])
def test_sizes_are_those_of_the_release(model: str, images: Samples) -> None:
    scheme = ShareUpdates(model, batch=4)
    release, _ = scheme.hide(images, None, seeded(1), rounds=2)
    planned, found = scheme.planned_size(images, rounds=2), release.size()
    assert (planned.items, planned.network, planned.parameters) == (found.items, found.network, found.parameters)
    numbers = sum(tensor.numel() for update in release.updates for tensor in update.values())
    assert scheme.release_bytes(images, 2) == 4 * numbers
    assert scheme.hiding_work(images, 2) > 6 * len(images) * found.network


def test_multiplications_of_a_convolution() -> None:
    network = build("lenet", (1, 8, 8), 3)
    wanted = 4 * 4 * 12 * 25 + 2 * 2 * 12 * 25 * 12 + 2 * 2 * 12 * 25 * 12 + 48 * 3
    assert network_size(network, (1, 8, 8)).multiplications == wanted
    assert network_size(network, (1, 8, 8)).parameters == sum(each.numel() for each in network.parameters())


def test_weak_cases(images: Samples) -> None:
    plain = ShareUpdates("linear", batch=5, local_steps=2, sends="weights", defences=(Sign(),))
    assert list(plain.weak_cases(images, seeded(1))) == [ShareUpdates("linear")]
    mixed = ShareUpdates("linear", batch=5, encoding=InstaHide())
    assert list(mixed.weak_cases(images, seeded(1))) == [
        ShareUpdates("linear"),
        ShareUpdates("linear", encoding=InstaHide()),
    ]
    normed = ShareUpdates("classifier", batch=5)  # whose batch norm takes two images or more
    assert list(normed.weak_cases(images, seeded(1))) == [
        ShareUpdates("classifier", mode="eval"),
        ShareUpdates("classifier", batch=2),
    ]
    assert len({scheme.weak_kind for scheme in (plain, mixed, normed)}) == 3
    assert plain.trial(images).images == 16
    large = Samples(torch.zeros(2, 3, 32, 32), torch.eye(2))
    assert ShareUpdates("resnet18").trial(large).images == 12
    assert ShareUpdates("resnet50").trial(large).images < 12
    untrained = ShareUpdates("linear")
    assert list(replace(untrained, trained=True).weak_cases(images, seeded(1)))[1:] == [untrained]
    states = [replace(untrained, trained=epochs > 0, epochs=epochs) for epochs in (0, 1, 5)]
    assert [list(state.weak_cases(images, seeded(1))) for state in states] == 3 * [[untrained]]
    assert {state.weak_kind for state in states} == {untrained.weak_kind}


def test_noise_says_nothing(images: Samples) -> None:
    scheme = ShareUpdates("small-resnet", batch=5, sends="weights")
    release, secret = scheme.hide(images, None, seeded(1))
    seen = secret.reveal(release, ("statistics",))
    noise = seen.as_noise(seeded(2))
    name = next(iter(release.updates[0]))
    assert not torch.equal(noise.updates[0][name], release.updates[0][name])
    assert noise.statistics is not None
    assert seen.statistics is not None
    layer = next(iter(seen.statistics[0]))
    assert not torch.equal(noise.statistics[0][layer][0], seen.statistics[0][layer][0])
    assert bool((noise.statistics[0][layer][1] >= 0).all())
    assert noise.buffers is not None
    for name, buffer in noise.buffers[0].items():
        assert torch.equal(buffer, release.models[0].state[name])


def test_a_summary_says_what_is_shared() -> None:
    scheme = ShareUpdates("lenet", 8, 2, 3, 0.1, "weights", "eval", InstaHide(k=4, largest=0.65), (Sign(),), True)
    assert scheme.summary() == (
        "Share what 16 images changed in the weights of a trained lenet, in eval mode, in 6 local steps of rate 0.1;"
        " images are encoded by instahide (k = 4) before, and the update goes through sign."
    )


def test_a_summary_says_how_far_the_model_was_trained() -> None:
    said = [ShareUpdates("lenet", trained=epochs > 0, epochs=epochs).summary()[30:-13] for epochs in (0, 1, 5)]
    assert said == [
        "by an untrained lenet, in train mode",
        "by a trained lenet (after 1 epoch), in train mode",
        "by a trained lenet (after 5 epochs), in train mode",
    ]


def test_weights_are_part_of_what_is_asked(images: Samples) -> None:
    scheme = ShareUpdates("linear")
    assert scheme.fingerprint() == ""
    first, second = (scheme.with_estimates(images, None, seeded(number)).fingerprint() for number in (1, 2))
    assert first != second


def test_every_trained_state_is_proved_by_itself(images: Samples) -> None:
    schemes = [ShareUpdates("linear", trained=True).with_estimates(images, None, seeded(number)) for number in (1, 2)]
    assert schemes[0].weak_kind != schemes[1].weak_kind
