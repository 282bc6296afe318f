"""`hideseek audit SCHEMES`: say what leaks from images that are shared so, and what it costs."""

import inspect
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tyro

from hideseek.audit import Question, audit, make_plan
from hideseek.audit.provenance import without_folders
from hideseek.audit.store import check_folder
from hideseek.cli.arguments import parse
from hideseek.cli.audit_options import Audit, Images, Output, Several
from hideseek.cli.audit_question import attacks_on, question_of
from hideseek.cli.audit_tables import show_plan, show_result
from hideseek.cli.config import configured
from hideseek.cli.shared import Shared, apart
from hideseek.cli.terminal import say
from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, RecipeEncoder
from hideseek.hide.named import schemes
from hideseek.records import EncodedRelease, MixingEncoder
from hideseek.records.result import Result


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and audit; parameters of a single scheme are options too."""
    arguments, file = configured(arguments)
    names, *rest = arguments or ["--help"]
    if names in ("-h", "--help"):
        say(*_overview().split("\n"))
        return
    if names.partition("=")[0] == "--recorded":
        from hideseek.cli import audit_recorded

        audit_recorded.run(arguments, file)
        return
    if names.partition("=")[0] == "--release":
        from hideseek.cli import audit_release

        audit_release.run(arguments, file)
        return
    if names == "updates":
        from hideseek.cli import audit_updates

        audit_updates.run(rest, file)
        return
    if names == "model":
        from hideseek.cli import audit_model

        audit_model.run(rest, file)
        return
    chosen = schemes(names)
    scheme, shared = _single(chosen)
    about = inspect.cleandoc(Audit.__doc__ or "")
    summary, examples = about.partition("\n")[0], about.partition("Try:")[2]
    kind: Any = Audit[type(scheme)]  # type: ignore[misc] # its flags are the scheme's fields
    asked: Audit[Any] = parse(
        kind,
        f"hideseek audit {names}",
        rest,
        file,
        description=f"{summary} `hideseek audit --help` says how that is done.\n\nTry:{examples}",
        default=Audit(scheme, Images(tyro.MISSING), Output(tyro.MISSING), shared=shared),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    if not isinstance(asked.scheme, Several):
        chosen = dict.fromkeys(chosen, asked.scheme)
    perform(asked, lambda: question_of(asked, chosen))


def _single(chosen: Mapping[str, MixingEncoder]) -> tuple[Any, Shared]:
    """Give a single scheme, whose parameters are options, and how exactly it is shared; or that there are several."""
    first, *others = chosen.values()
    return (Several(), Shared()) if others or not isinstance(first, RecipeEncoder) else apart(first)


def perform(asked: Audit[Any], load: Callable[[], Question]) -> None:
    """Load, plan, audit, and show what came out, unless only the plan is asked; say what is kept where that is stopped.

    A gate that does not pass is an error when all of that is done.
    """
    try:
        result = _perform(asked, load)
    except KeyboardInterrupt as stopped:
        output = asked.output
        if str(stopped):
            said = f"{stopped} Give the same command with --resume."
        elif output.resume and (output.out / "audit.json").is_file():
            said = "stopped; what was done before is kept. Give the same command again."
        else:
            said = "stopped before anything was written."
        raise KeyboardInterrupt(said) from None
    if result is not None:
        asked.gate.finish([result])


def _perform(asked: Audit[Any], load: Callable[[], Question]) -> Result | None:
    output = asked.output
    asked.gate.check()
    if output.dry_run:
        asked.gate.refuse("--dry-run judges nothing")
    else:
        with _hint(output):
            check_folder(output.out, resume=output.resume)
    question = load()
    plan = make_plan(question)
    show_plan(plan, question)
    if output.dry_run:
        return None
    with _hint(output):
        result = audit(
            question,
            output.out,
            plan=plan,
            seed=asked.attacking.seed,
            resume=output.resume,
            show_private=output.show_private,
            keep=output.keep,
            command=shlex.join(["hideseek", *map(without_folders, sys.argv[1:])]),
            tell=say,
        )
    show_result(result, output.out)
    return result


@contextmanager
def _hint(output: Output) -> Iterator[None]:
    """Say which option goes on with an audit that was begun."""
    try:
        yield
    except BadInput as mistake:
        kept = (output.out / "audit.json").is_file() and not (output.out / "result.json").is_file()
        raise BadInput(
            f"{mistake} (--resume goes on with an audit that was begun.)" if kept else str(mistake)
        ) from None


def _overview() -> str:
    return (
        "usage: hideseek audit SCHEME[,SCHEME…] --data ADDRESS --out DIR [--rounds T] [--budget 10m] [--help] …\n"
        "       hideseek audit updates --model NAME|FILE --data ADDRESS --out DIR [--defence CHAIN[,CHAIN…]] …\n"
        "       hideseek audit model MODEL --data ADDRESS --others ADDRESS …\n"
        "       hideseek audit --recorded DIR --out DIR …\n"
        "       hideseek audit --release DIR|FILE --out DIR [--private ADDRESS] …\n"
        "       hideseek audit --config FILE [SCHEMES|updates|model MODEL] …\n\n"
        f"{inspect.cleandoc(Audit.__doc__ or '')}\n\n"
        f"Schemes: {', '.join(ENCODERS)}.\n"
        f"Attacks: {', '.join(attacks_on(EncodedRelease))}.\n\n"
        "`hideseek audit SCHEME --help` explains all options, `hideseek audit updates --help` those of updates of a"
        " model, which clients of federated learning share, `hideseek audit model --help` those of a trained model."
    )
