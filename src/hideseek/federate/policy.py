"""What the owner of a node allows to leave it: a file of his own, which no server can change."""

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement, Protocol
from hideseek.files import read_bytes
from hideseek.hide import RecipeEncoder
from hideseek.hide.encoders.coarse import Coarse
from hideseek.hide.named import schemes
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.chains import UNDEFENDED, Chain, chains

LONGEST = 1 << 20  # bytes of a policy
STATISTICS = ("num-examples", "buffers", "accuracy")  # that a message may hold beside an update
TEMPLATE = """# What may leave this node. Only its owner changes this file; what is not allowed here is refused.

# How images may be shared: as updates of a model (gradients), or as encodings.
protocols = ["{protocol}"]

# Schemes that hide enough; the same scheme with stronger parameters passes too, anything else does not.
schemes = ["{scheme}"]

# How many rounds an image may be in.
rounds = {rounds}

# The fewest images that an update may be of.
cohort = {cohort}

# Numbers and statistics that may be sent beside an update: {statistics}.
statistics = [{chosen}]

# Digests of the apps that may run here (`flwr build` prints the name, `sha256sum` of the .fab file the digest);
# empty: any app, whose messages must still pass, and whose words do not.
apps = []

# Attacks that are run at home on what is about to leave, and how many images they may get back at most. What they find
# is written down beside the message. They take their time: first-layer seconds, gradient-matching minutes.{costs}
inspect = [{inspect}]
recovered = 0

# A ledger of every release of every image (`hideseek ledger budget FILE` begins one); what it does not allow, or what
# cannot be written to it, does not leave. A path is taken from this file's folder.
# ledger = "../ledger.db"
"""
COSTS = """
# Those on encodings take far longer than to send them, for every shard anew, so that none is chosen here: begin with
# "byte-decoding", or let `hideseek audit` run all of them once, before anything is sent."""


@dataclass(frozen=True)
class Policy:
    """What may leave a node."""

    protocols: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()
    rounds: int = 0
    cohort: int = 1
    statistics: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    inspect: tuple[str, ...] = ()
    """Attacks that are run at home on what is about to leave."""
    recovered: int = 0
    """How many images they may get back."""
    ledger: Path | None = None
    """The ledger that all that leaves is written to before."""
    exact: tuple[Chain | RecipeEncoder, ...] = field(default=(), repr=False)
    """The schemes, read."""
    seeded: bool = False
    """Whether keys may come from a seed: in simulations alone."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a policy; what is not understood is refused, since it may have been meant to forbid something."""
        try:
            plain = tomllib.loads(read_bytes(path, LONGEST).decode("utf-8"))
        except (OSError, ValueError):
            raise BadInput(f"the policy {path} cannot be read: nothing leaves before it can.") from None
        known = {each.name: each.type for each in fields(cls) if each.name not in ("exact", "seeded")}
        if unknown := sorted(set(plain) - set(known)):
            raise BadInput(f"the policy {path} has {unknown[0]!r}, which is unknown here: nothing leaves.")
        if missing := sorted({"protocols", "schemes", "rounds"} - set(plain)):
            raise BadInput(f"the policy {path} does not say {missing[0]}: nothing leaves before it does.")
        if isinstance(plain.get("ledger"), str):
            plain["ledger"] = str(path.parent / plain["ledger"])
        return cls.of_values(plain, str(path))

    @classmethod
    def of_values(cls, plain: Mapping[str, Any], where: str) -> Self:
        """Check the values of a policy."""
        given: dict[str, Any] = {}
        for name, value in plain.items():
            if name in ("rounds", "cohort", "recovered"):
                if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                    raise BadInput(f"{where}: {name} must be a whole number, not {value!r}.")
                given[name] = value
            elif name == "ledger":
                if not isinstance(value, str) or not value:
                    raise BadInput(f"{where}: ledger must be the path of a file, not {value!r}.")
                given[name] = Path(value)
            else:
                if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                    raise BadInput(f"{where}: {name} must be a list of names, not {value!r}.")
                given[name] = tuple(value)
        if unknown := sorted(set(given.get("statistics", ())) - set(STATISTICS)):
            raise BadInput(f"{where}: there is no statistic {unknown[0]!r}: choose of {', '.join(STATISTICS)}.")
        read: list[Chain | RecipeEncoder] = []
        for protocol in given.get("protocols", ()):
            if protocol not in ("gradients", "encodings"):
                raise BadInput(f"{where}: there is no protocol {protocol!r}: choose gradients or encodings.")
            for scheme in given.get("schemes", ()):
                read += chains(scheme).values() if protocol == "gradients" else schemes(scheme).values()
        if given.get("inspect"):
            from hideseek.federate.inspection import must_be_attacks

            must_be_attacks(given["inspect"], where)
        return cls(**given, exact=tuple(read))

    @classmethod
    def of(cls, agreement: Agreement) -> Self:
        """Give the policy that allows what was agreed on, and nothing else: for simulations."""
        scheme = agreement.scheme
        chain = Chain(scheme.encoding, scheme.defences) if isinstance(scheme, ShareUpdates) else scheme
        return cls((agreement.protocol,), (), 1 << 30, 1, STATISTICS, exact=(chain,), seeded=True)

    def allows(self, protocol: Protocol, scheme: Chain | RecipeEncoder) -> str:
        """Give why a scheme is not allowed; empty where it is."""
        if protocol not in self.protocols:
            return f"the protocol {protocol} is not allowed"
        alike = [least for least in self.exact if isinstance(least, Chain) == isinstance(scheme, Chain)]
        reasons = [_weaker(scheme, least) for least in alike]
        if any(not reason for reason in reasons):
            return ""
        return reasons[0] if len(reasons) == 1 else "its scheme is none of those that are allowed"


def _weaker(scheme: Any, least: Any) -> str:
    """Give how a scheme hides less than another of its kind, or is of another kind; empty where it hides as much."""
    if isinstance(scheme, Chain) and isinstance(least, Chain):
        if (scheme.encoding is None) != (least.encoding is None) and least.encoding is not None:
            return f"images are not encoded by {least.encoding.mechanism}"
        if least.encoding is not None and (why := _weaker(scheme.encoding, least.encoding)):
            return why
        remaining = list(scheme.defences)
        for wanted in least.defences:
            why = f"updates do not go through {wanted.mechanism}"
            while remaining and (found := _weaker(remaining[0], wanted)):
                why = found if type(remaining.pop(0)) is type(wanted) else why
            if not remaining:
                return why
            remaining.pop(0)
        if least.defences and remaining:
            return (
                f"after {least.defences[-1].mechanism} updates go through {remaining[0].mechanism}, which may cover it"
            )
        return ""
    if isinstance(scheme, Coarse) and not isinstance(least, Coarse):
        return _weaker(scheme.scheme, least)  # rounding what is shared tells nobody more
    if type(scheme) is not type(least):
        return f"its scheme is not {getattr(least, 'mechanism', 'this one')}"
    for each in dataclasses.fields(least):
        if not each.compare:
            continue
        found, wanted, way = getattr(scheme, each.name), getattr(least, each.name), least.harder.get(each.name, 0)
        if found == wanted:
            continue
        if wanted is None:
            return f"{least.mechanism} has {each.name} = {found}, which the policy leaves to the images"
        if dataclasses.is_dataclass(wanted) and hasattr(wanted, "mechanism"):
            if why := _weaker(found, wanted):
                return why
        elif not way or found is None or (found - wanted) * way < 0:
            bound = "at least " if way > 0 else "at most " if way < 0 else ""
            return f"{least.mechanism} has {each.name} = {found}, and {bound}{wanted} is allowed"
    return ""


def template(agreement: Agreement, scheme: str, rounds: int, cohort: int) -> str:
    """Write a policy to begin with, which allows what is planned, and explains itself."""
    updates = agreement.protocol == "gradients"
    chosen = '"num-examples", "buffers"' if updates and agreement.buffers else '"num-examples"' if updates else ""
    return TEMPLATE.format(
        protocol=agreement.protocol,
        scheme="none" if scheme == UNDEFENDED else scheme,
        rounds=rounds,
        cohort=cohort,
        statistics=", ".join(STATISTICS),
        chosen=chosen,
        costs="" if updates else COSTS,
        inspect='"first-layer", "labels-from-gradient"' if updates else "",
    )
