"""Measuring an entry: an audit of the fixed problem with no limit of time, and trainings by the fixed seeds."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from hideseek.audit import Question, audit, make_plan
from hideseek.audit.planning.clock import ProcessClock
from hideseek.audit.question import Learnable
from hideseek.audit.store import ASKED, PICTURES
from hideseek.audit.utility import measure
from hideseek.bench.cost import cost
from hideseek.bench.entry import FORMAT, PICTURE, Entry, Evidence, place_of, write_entry
from hideseek.bench.picture import found_sheet
from hideseek.bench.problem import Problem
from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.files import must_be_new, new_file, new_folder, own_folder
from hideseek.records import Encoder
from hideseek.records.result import Accuracy, Result, StepKind
from hideseek.records.spent import Spent
from hideseek.report import sentences
from hideseek.report.result_files import NAME as RESULT
from hideseek.report.result_files import read_result

Tell = Callable[[str], None]


def measured(
    name: str, scheme: Encoder | None, problem: Problem, folder: Path, tell: Tell = lambda _: None
) -> Evidence:
    """Measure a way of sharing, and write its entry into the folder; what was begun before is gone on with."""
    place, protocol = place_of(folder, name), problem.protocol
    must_be_new(place)
    unfinished = place.with_name(f".{place.name}.{protocol.fingerprint}")
    own_folder(unfinished)
    accuracies = tuple(_accuracy(scheme, problem, seed, unfinished, tell) for seed in protocol.seeds)
    question = None if scheme is None else problem.question(name, scheme)
    result = None if question is None else _audited(question, unfinished / "audit", problem, tell)
    entry = Entry(
        FORMAT,
        protocol.name,
        protocol.fingerprint,
        name,
        accuracies,
        cost(problem, scheme, question),
        Spent() if scheme is None else scheme.spends(protocol.private, protocol.rounds),
    )
    with new_folder(place) as new:
        write_entry(entry, result and without_pictures(result), new)
        if result is not None and (sheet := found_sheet(result, unfinished / "audit" / PICTURES)) is not None:
            with new_file(new / PICTURE) as file:
                sheet.save(file, "PNG", optimize=True)
    shutil.rmtree(unfinished)
    return Evidence(place, entry, result)


def _accuracy(scheme: Encoder | None, problem: Problem, seed: int, folder: Path, tell: Tell) -> Accuracy:
    """Train by a seed, unless that was done before."""
    path, adapter = folder / f"accuracy-{seed}.json", TypeAdapter(Accuracy)
    if path.is_file():
        return adapter.validate_json(path.read_bytes())
    if scheme is not None and not isinstance(scheme, Learnable):
        raise BadInput("nothing can be learnt from what this scheme shares: the benchmark needs its accuracy.")
    found = measure(problem.learning, scheme, problem.training, seeded(seed), ProcessClock())
    with new_file(path) as file:
        file.write(adapter.dump_json(found))
    tell(f"Seed {seed}: {sentences.number(found.accuracy.mean, 'share')} of new images are classified correctly.")
    return found


def _audited(question: Question, folder: Path, problem: Problem, tell: Tell) -> Result:
    """Run all attacks with their own settings; what would help is not looked for."""
    if (folder / RESULT).is_file():
        return read_result(folder)
    plan = make_plan(question)
    return audit(
        question,
        folder,
        plan=replace(plan, steps=tuple(step for step in plan.steps if step.key.kind is not StepKind.ADVICE)),
        seed=problem.protocol.seeds[0],
        resume=(folder / ASKED).is_file(),
        command=f"hideseek bench {problem.protocol.track} {next(iter(question.schemes))}",
        tell=tell,
    )


def without_pictures(result: Result) -> Result:
    """Leave out what only a page draws: an entry has one picture."""
    return replace(
        result,
        schemes=tuple(
            replace(scheme, attacks=tuple(replace(each, exhibits=(), curves=()) for each in scheme.attacks))
            for scheme in result.schemes
        ),
    )
