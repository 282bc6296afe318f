"""What is known of Flower and Opacus, against the versions that are installed."""

import inspect
import math

import pytest

from hideseek.federate.claims.flower_central import _adaptive_mu
from hideseek.federate.claims.records import Given
from hideseek.federate.claims.signatures import METHODS, SIGNATURES

PLACES = ("flwr.clientapp.mod", "flwr.client.mod", "flwr.serverapp.strategy", "flwr.server.strategy")


@pytest.mark.parametrize("place", PLACES)
def test_arguments_stand_in_the_order_that_is_assumed(place: str) -> None:
    module = pytest.importorskip(place)
    found = [name for name in SIGNATURES if hasattr(module, name)]
    assert found
    for name in found:
        order = SIGNATURES[name][1]
        if order:
            assert tuple(inspect.signature(getattr(module, name)).parameters)[: len(order)] == order


def test_adaptive_noise_is_what_flower_adds() -> None:
    privacy = pytest.importorskip("flwr.supercore.differential_privacy")
    deviation, of_updates = privacy.compute_adaptive_noise_params(0.8, 60, None)
    given = Given("DifferentialPrivacyServerSideAdaptiveClipping", "", {"num_sampled_clients": 60.0})
    expected = math.hypot(1 / (of_updates * math.exp(-0.2 * 0.5)), 1 / deviation)
    assert _adaptive_mu(given, 0.8, 1.0) == pytest.approx(expected)


def test_opacus_has_these_methods() -> None:
    opacus = pytest.importorskip("opacus")
    for name in METHODS:
        assert "max_grad_norm" in inspect.signature(getattr(opacus.PrivacyEngine, name)).parameters
