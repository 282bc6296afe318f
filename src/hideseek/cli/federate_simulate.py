"""`hideseek federate simulate`: a federation on one machine."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import tyro

from hideseek.cli.arguments import parse
from hideseek.cli.federate_options import Serving, Shared, Simulate
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.metrics import read_metrics
from hideseek.federate.party import Part
from hideseek.federate.planned import Plan
from hideseek.federate.project import check_enough
from hideseek.federate.server import ServerSettings, load_test
from hideseek.files import must_be_new, new_file, own_folder, parsed
from hideseek.learn import largest_class
from hideseek.records import Samples
from hideseek.report import sentences
from hideseek.report.federation_curve import draw_rounds
from hideseek.train.trained import MODEL

BEGUN = "simulation.json"


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and simulate."""
    simulate(parse(Simulate, "hideseek federate simulate", arguments, config=(tyro.conf.OmitArgPrefixes,)))


def simulate(asked: Simulate) -> None:
    """Agree, run all rounds, and say what came out."""
    settings = _settings(asked)
    if not asked.resume:
        must_be_new(asked.out)
    elif not (asked.out / BEGUN).exists():
        raise BadInput(f"there is nothing to resume in {asked.out}: leave --resume out, or name another folder.")
    plan = Plan(asked.data, parties=asked.parties, **asdict(asked.shared))
    agreement, images = plan.agreement()
    check_parts(asked.parties, asked.alpha, agreement, images)
    test = load_test(asked.serving.test, agreement)
    _begin(asked, agreement)
    say(f"{asked.parties} parties have {len(images):,} images together. {agreement.scheme.summary()}")
    if test is None:
        say("There is no --test set: how well the model does on new images will not be known.")
    else:
        say(sentences.largest_class(largest_class(test.labels)))
    try:
        _run(asked, agreement, settings, test)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; go on with the same command and --resume.") from None
    except BadInput as mistake:
        raise BadInput(f"{mistake}{_why(asked.out)}") from mistake


def need_flower(*packages: str) -> None:
    """Refuse where Flower is not installed."""
    if any(find_spec(package) is None for package in packages or ("flwr",)):
        raise BadInput("federating needs Flower: pip install 'hideseek[federated]'.")


def check_serving(serving: Serving, parties: int, shared: Shared) -> None:
    """Refuse what no server of so many parties can do."""
    from hideseek.federate.flower.strategies import FlowerAggregate

    FlowerAggregate(serving.strategy)
    if serving.least > parties > 1:
        raise BadInput(f"--least is {serving.least}, and there are {parties} parties: ask for fewer.")
    if serving.strategy == "fedprox" and shared.protocol == "gradients" and shared.proximal == 0:
        raise BadInput("fedprox without --proximal is fedavg: give its μ, such as --proximal 0.1, or choose fedavg.")
    if serving.epochs < 1:
        raise BadInput(f"--epochs must be 1 or more, not {serving.epochs}.")


def _settings(asked: Simulate) -> ServerSettings:
    """Check, before anything is loaded, what the server is to do."""
    need_flower("flwr", "ray")
    if asked.parties < 1:
        raise BadInput(f"--parties must be 1 or more, not {asked.parties}.")
    serving = asked.serving
    check_serving(serving, asked.parties, asked.shared)
    return ServerSettings(
        asked.out, serving.strategy, serving.fraction, min(serving.least, asked.parties), timeout=serving.timeout,
        record=serving.record, epochs=serving.epochs, seed=asked.seed,
    )  # fmt: skip


def check_parts(parties: int, alpha: float | None, agreement: Agreement, images: Samples) -> None:
    """Refuse parts that are too small to be encoded."""
    if parties > len(images):
        raise BadInput(f"{len(images)} images cannot be dealt to {parties} parties: take fewer parties.")
    check_enough(min(len(Part(place, parties, alpha).take(images)) for place in range(parties)), agreement)


def _begin(asked: Simulate, agreement: Agreement) -> None:
    """Write down what is simulated; a run is not resumed as another one."""
    dealt = {"data": asked.data, "parties": asked.parties, "alpha": asked.alpha, "seed": asked.seed}
    about = {**dealt, "strategy": asked.serving.strategy, "agreement": agreement.to_json()}
    path = asked.out / BEGUN
    if not asked.resume:
        own_folder(asked.out)
        with new_file(path) as file:
            file.write(json.dumps(about, ensure_ascii=False).encode())
        return
    before = parsed(path.read_text("utf-8"))
    if changed := sorted(name for name in about if before.get(name) != about[name]):
        raise BadInput(f"{asked.out} was begun with another {' and '.join(changed)}: go on with the same command.")


def _run(asked: Simulate, agreement: Agreement, settings: ServerSettings, test: Samples | None) -> None:
    from hideseek.federate.flower import simulation

    who = simulation.Simulated(asked.data, asked.parties, asked.alpha, asked.serving.record, asked.seed)
    simulation.simulate(who, agreement, settings, test, say)
    with new_file(asked.out / "curve.png") as file:
        draw_rounds(read_metrics(asked.out), f"{agreement.model} on {asked.data}, {agreement.protocol}", file)
    say(f"The model is in {asked.out / MODEL}, the curve in {asked.out / 'curve.png'}.")
    say(f"What left each party is in {asked.out / simulation.PARTIES}, in left.jsonl.")
    if asked.serving.record:
        say(f"Attack what was sent:  hideseek audit --recorded {asked.out} --out audit")
    if asked.seed is not None:
        say(f"All chance came from the seed {asked.seed}: it is for studies, and protects nothing.")


def _why(out: Path) -> str:
    """Give what the log of the first party says that did not answer, where one does."""
    for log in sorted(out.glob("parties/*/left.jsonl")):
        for entry in log.read_text("utf-8").splitlines():
            if "note" in (read := parsed(entry)):
                return f" The log of {log.parent.name}: {read['note']}"
    return ""
