"""What could be changed."""

from hideseek.audit.belief.advice import _changes
from hideseek.hide import Augmented, InstaHide, Laplace, SingularizedMixup


def test_changes_are_of_the_scheme_that_was_audited() -> None:
    """Fewer rounds where there are several, more noise where there is some, else another scheme; movements stay."""
    scheme = Augmented(SingularizedMixup(tau=1e-2))
    fewer, louder = _changes(scheme, 5)
    assert (fewer.scheme, fewer.rounds) == (scheme, 1)
    assert (louder.scheme, louder.rounds) == (Augmented(SingularizedMixup(tau=1e-4)), 5)
    (given,) = _changes(SingularizedMixup(radius=2.0), 1)
    assert given.scheme == SingularizedMixup(radius=20.0)
    (noisier,) = _changes(Laplace(alpha=0.5, scale=1.0), 1)
    assert noisier.scheme == Laplace(alpha=0.75)
    (other,) = _changes(InstaHide(), 1)
    assert other.scheme == SingularizedMixup(tau=1e-4)
    assert "12.3 of 85.3 %" in other.remark
