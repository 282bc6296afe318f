"""Gradient matching with settings that were searched for on the attacker's own images, never on the truth."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import Attack, Evidence, Reason, Refusal, Samples, Task
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.head_labels import largest_size
from hideseek.seek.systems.matching_loop import Adam
from hideseek.seek.systems.own_updates import labelled
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.learned_inversion import unknown_work, without_own_images
from hideseek.seek.updates.tuned_settings import kept_settings
from hideseek.seek.work import attacked, largest
from hideseek.train.batch_statistics import batch_norms, batch_statistics

if TYPE_CHECKING:
    from optuna import Trial

PARTS = 64  # of an attack's own work, by which it is made smaller
LEAST_TRIALS = 4  # the first has the settings that are there; it takes some more to search


@dataclass(frozen=True)
class TunedMatching(Attack[UpdateRelease]):
    """Share own images as the scheme does, search for the settings that invert those best, and attack with them.

    θ̂ = argmax_θ of the mean of −10 log₁₀ MSE(x̂_θ, x) over own images x. By Optuna's tree-structured Parzen estimator
    (Bergstra et al. 2011), trials below the median stopped early. The first trial has the attack's own settings. The
    quality of a trial is the mean of −10 log₁₀ of the squared error. Chosen values and all trials are in the remarks,
    and are kept for other updates of the same model and scheme.
    """

    sees: ClassVar[type[UpdateRelease]] = UpdateRelease
    source: ClassVar[str] = "ours; Optuna (Akiba et al. 2019)"

    attack: GradientMatching = field(default_factory=GradientMatching)
    """What is tuned."""
    trials: int = 16
    """How many settings are tried."""
    batches: int = 3
    """Own updates that each is tried on."""
    updates: int | None = None
    """How many updates are attacked, the first ones; None: all."""

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override] # by value, not by class
        """Name what is needed beside own images."""
        return tuple(dict.fromkeys(("own", *self.attack.needs)))

    def seek(self, release: UpdateRelease, chance: Randomness) -> Evidence:
        """Search, or take what was found before, and attack."""
        searching, attacking = chance.spawn(2)
        network = release.models[0].build()
        usual = self.attack.for_batch(network, release.scheme.mode, largest_size(release))
        if usual.statistics == "offered" and not batch_norms(network):
            usual = replace(usual, statistics="none")
        search = usual, self.trials, self.batches
        found, kept = kept_settings(release, search, searching, lambda: self._searched(usual, release, searching))
        attack = replace(_with(usual, found["chosen"]), updates=self.updates)
        evidence = attack.seek(release, attacking)
        remarks = {**evidence.remarks, **found, "trials of this run": 0 if kept else len(found["trials"])}
        return replace(evidence, remarks=remarks)

    def refuses(self, release: UpdateRelease) -> Refusal | None:
        """Refuse without Optuna, without own images that can be shared alike, and what the attack itself refuses."""
        if find_spec("optuna") is None:
            return Refusal(Reason.NO_OPTUNA)
        if release.scheme.encoding is not None:
            return Refusal(Reason.ENCODED_IMAGES)
        work = release.scheme.work
        if release.scheme.scaled or ("images" in work.unknown and not work.one_gradient):
            return unknown_work(release)
        fewest = 2 * self.batches * largest_size(release)
        return without_own_images(release, fewest) or self.attack.refuses(release)

    def work(self, task: Task) -> float:
        """Count the trials, and the attack."""
        tried = self.attack.work(replace(task, items=self.batches))
        return self.trials * tried + replace(self.attack, updates=attacked(self.updates, task)).work(task)

    def within(self, work: float, task: Task) -> Self:
        """Take fewer trials, then a smaller attack."""
        trials = largest(lambda count: replace(self, trials=count).work(task), LEAST_TRIALS, self.trials, work)
        fitted = replace(self, trials=trials)
        if fitted.work(task) <= work:
            return fitted
        return fitted._part(largest(lambda part: fitted._part(part, task).work(task), 0, PARTS, work), task)

    def _part(self, part: int, task: Task) -> Self:
        """Make the attack smaller."""
        attack = self.attack.within(self.attack.work(task) * part / PARTS, task)
        return replace(self, attack=replace(attack, updates=None), updates=attack.updates)

    def _searched(self, usual: GradientMatching, release: UpdateRelease, chance: Randomness) -> dict[str, Any]:
        """Try settings on own updates."""
        import optuna  # here: it is an extra, and takes long to import

        optuna.logging.set_verbosity(logging.ERROR)
        shared, truth = own_release(release, self.batches, chance)
        keys = chance.bytes(32)

        def quality(trial: Trial) -> float:
            attack, same, found = _with(usual, _suggested(trial, usual)), Randomness(keys, chance.seed), []
            for number, images in enumerate(truth):
                one = replace(
                    shared,
                    updates=shared.updates[number : number + 1],
                    sizes=(len(images),),
                    labels=shared.labels and shared.labels[number : number + 1],
                    statistics=shared.statistics and shared.statistics[number : number + 1],
                    buffers=shared.buffers and shared.buffers[number : number + 1],
                )
                claim: Any = attack.seek(one, same).claims[0]
                found.append(_quality(claim.images, images))
                trial.report(sum(found) / len(found), number)
                if number + 1 < len(truth) and trial.should_prune():
                    raise optuna.TrialPruned
            return sum(found) / len(found)

        sampler = optuna.samplers.TPESampler(seed=int.from_bytes(chance.bytes(4), "little"), n_startup_trials=5)
        pruner = optuna.pruners.MedianPruner(n_startup_trials=LEAST_TRIALS)
        study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
        study.enqueue_trial(_present(usual))
        study.optimize(quality, n_trials=self.trials)
        tried = [
            {**{name: _rounded(each) for name, each in trial.params.items()}, "quality": _rounded(trial.value or 0.0),
             "stopped": trial.state is optuna.trial.TrialState.PRUNED}
            for trial in study.trials
        ]  # fmt: skip
        return {"chosen": dict(study.best_params), "trials": tried}


def own_release(release: UpdateRelease, batches: int, chance: Randomness) -> tuple[UpdateRelease, tuple[Tensor, ...]]:
    """Share the last of own images, in batches as large as the release's; the others stay the attacker's."""
    assert release.own is not None  # noqa: S101 (`needs`)
    own, model = labelled(release.own, release.classes, chance), release.model(0)
    size = largest_size(release)
    first = len(own) - batches * size
    rows: list[Samples] = [own.take(slice(at, at + size)) for at in range(first, len(own), size)]
    sent = [release.scheme.update(model, each, chance) for each in rows]
    network = model.network().train(release.scheme.mode == "train")
    shared = replace(
        release,
        updates=tuple(update for update, _ in sent),
        models=(model,),
        sizes=(size,) * batches,
        labels=None if release.labels is None else tuple(each.labels for each in rows),
        statistics=release.statistics and tuple(batch_statistics(network, each.pixels()) for each in rows),
        buffers=release.buffers and tuple(buffers for _, buffers in sent),
        own=own.take(slice(0, first)),
        round_of=None,
        crafted=None,
    )
    return shared, tuple(each.pixels() for each in rows)


def _suggested(trial: Trial, attack: GradientMatching) -> dict[str, float]:
    """Draw settings."""
    ranges: dict[str, tuple[float, float]] = {"total variation": (1e-4, 1.0)}
    if isinstance(attack.optimiser, Adam):
        ranges |= {"rate": (0.02, 1.0), "relax": (0.05, 1.0)}
    if attack.statistics != "none":
        ranges["statistics weight"] = 1e-5, 1.0
    found = {name: trial.suggest_float(name, *ends, log=True) for name, ends in ranges.items()}
    return {**found, "balance": trial.suggest_float("balance", 0.0, 1.0)}


def _present(attack: GradientMatching) -> dict[str, float]:
    """Give the settings that an attack has."""
    found = {"total variation": attack.prior.total_variation, "balance": attack.distance.balance}
    if isinstance(attack.optimiser, Adam):
        found |= {"rate": attack.optimiser.rate, "relax": attack.optimiser.relax}
    if attack.statistics != "none":
        found["statistics weight"] = attack.statistics_weight
    return found


def _with(attack: GradientMatching, values: dict[str, float]) -> GradientMatching:
    """Give an attack with these settings, for all networks."""
    optimiser = attack.optimiser
    if isinstance(optimiser, Adam):
        optimiser = replace(optimiser, rate=values["rate"], relax=values["relax"])
    return replace(
        attack,
        distance=replace(attack.distance, balance=values["balance"]),
        prior=replace(attack.prior, total_variation=values["total variation"]),
        optimiser=optimiser,
        smooth=None,
        statistics_weight=values.get("statistics weight", attack.statistics_weight),
    )


def _quality(found: Tensor, truth: Tensor) -> float:
    """Give the mean of −10 log₁₀ of the squared errors of own images, matched one to one."""
    errors = (found[:, None] - truth[None]).square().mean((2, 3, 4)).clamp_min(1e-12)
    rows, columns = linear_sum_assignment(errors.numpy())
    return float(-10 * errors[rows, columns].log10().mean())


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
