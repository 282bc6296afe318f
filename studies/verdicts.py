"""Whether an accuracy that a paper claims holds here: the one rule of all studies."""

NEAR = 2.0  # points between our vanilla training and the paper's, up to which losses are compared
AGREES = 0.5  # points that may be lost beyond what the paper says
NOT_COMPARABLE = "not comparable"


def comparable(vanilla: float, claimed_vanilla: float | None) -> bool:
    """Tell whether our set-up is like the paper's: vanilla training reaches the same, within two points.

    A paper that does not state what vanilla training reaches cannot be compared with.

    >>> comparable(99.4, 99.5), comparable(75.8, 94.8), comparable(85.3, None)
    (True, False, False)
    """
    return claimed_vanilla is not None and abs(vanilla - claimed_vanilla) <= NEAR


def verdict(claimed: float, found: float, claimed_vanilla: float | None, vanilla: float, differs: str = "") -> str:
    """Say whether a method loses more against vanilla training than the paper says, where that can be compared.

    `differs` names, in a word or two, what makes the paper's row another experiment than ours.

    >>> verdict(98.2, 97.9, 99.5, 99.4), verdict(98.2, 91.0, 99.5, 99.4), verdict(91.2, 75.0, 94.8, 75.8)
    ('as claimed', 'more than claimed', 'not comparable')
    >>> verdict(98.1, 97.5, 99.5, 99.4, "pre-trained")
    'not comparable: pre-trained'
    """
    if differs:
        return f"{NOT_COMPARABLE}: {differs}"
    if claimed_vanilla is None or not comparable(vanilla, claimed_vanilla):
        return NOT_COMPARABLE
    lost, claimed_loss = vanilla - found, claimed_vanilla - claimed
    return "as claimed" if lost <= claimed_loss + AGREES else "more than claimed"
