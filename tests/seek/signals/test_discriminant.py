"""The discriminant against its formula, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from hideseek.chance import seeded
from hideseek.seek.signals.discriminant import CosineFeatures, chosen_discriminant, scatter


@pytest.mark.parametrize("features", [6, 80])
def test_scores_against_the_formula(features: int) -> None:
    """z'Σ⁻¹m − m'Σ⁻¹m/2 with the matrix written out, for more rows than features, and fewer."""
    generator = np.random.default_rng(0)
    ids = np.repeat(np.arange(3), 15)
    values = generator.standard_normal((45, features)) * generator.uniform(0.1, 5, features) + ids[:, None]
    asked = generator.standard_normal((4, features))
    means = np.stack([values[ids == number].mean(0) for number in range(3)])
    apart = values - means[ids]
    deviations = np.sqrt((apart**2).mean(0))
    within = apart.T @ apart / 45
    for share in (0.1, 1.0):
        metric = np.linalg.inv((1 - share) * within + share * np.diag(deviations**2))
        expected = asked @ metric @ means.T - np.einsum("ij,jk,ik->i", means, metric, means) / 2
        np.testing.assert_allclose(scatter(values, ids).scores(asked, share), expected, rtol=1e-7, atol=1e-9)


def test_guesses_are_those_of_scikit_learn() -> None:
    """LinearDiscriminantAnalysis shrinks towards the mean variance: 1, once features have been scaled."""
    generator = np.random.default_rng(0)
    ids = np.repeat(np.arange(4), 30)
    values = generator.standard_normal((120, 12)) * generator.uniform(0.1, 5, 12) + 0.7 * ids[:, None]
    asked = generator.standard_normal((200, 12)) * 3
    ours = scatter(values, ids)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3).fit(values / ours.scale, ids)
    expected = theirs.decision_function(asked / ours.scale)
    found = ours.scores(asked, 0.3)
    np.testing.assert_allclose(found - found.mean(1, keepdims=True), expected - expected.mean(1, keepdims=True))


def test_masked_encodings_are_looked_at_without_their_signs() -> None:
    encoded = np.random.default_rng(0).standard_normal((4, 1, 9, 10)).astype(np.float32)
    for power in (1, 2):
        features = CosineFeatures(power, 8, masked=True)
        np.testing.assert_array_equal(features.of(encoded), features.of(-encoded))
        assert features.of(encoded).shape == (4, 64)
    plain = CosineFeatures(1, 8, masked=False)
    np.testing.assert_array_equal(plain.of(encoded), -plain.of(-encoded))


def test_constant_encodings_do_not_break_the_classifier() -> None:
    chosen = chosen_discriminant(np.zeros((16, 1, 3, 3)), np.repeat([0, 1], 8), masked=True, chance=seeded(0))
    assert np.isfinite(chosen.scores(np.zeros((2, 1, 3, 3)))).all()
