"""The client processes of a node, forked from one that has imported everything: some 5 CPU-seconds less a message.

Flower starts a program for every message. `hideseek federate node` starts this one in its place; beside a SuperNode of
Flower's own that was started with `--isolation process`, start it as

    python -m hideseek.federate.flower.executor --insecure --runtime-api-address 127.0.0.1:9094

It takes the options of Flower's own `flower-superexec`. Every message still has a process of its own, which ends with
it: nothing that an app does stays in memory for the next message.
"""

import importlib
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from flwr.supercore.cli.flower_superexec import flower_superexec
from flwr.supercore.constant import TaskType
from flwr.supercore.exit.exit_handler import SIGNAL_TO_EXIT_CODE, registered_exit_handlers
from flwr.supercore.superexec import run_superexec
from flwr.supercore.superexec.executor import ExecutionSpec, LaunchResult, SubprocessExecutor
from flwr.supercore.tls import validate_and_resolve_root_certificates
from flwr.supernode.runtime.run_clientapp import run_clientapp

IMPORTED = ("hideseek.federate.flower.apps",)


class ForkingExecutor(SubprocessExecutor):
    """Forks a process for every message; programs other than clients are started as Flower starts them."""

    def __init__(self) -> None:
        self.forked: set[int] = set()

    def launch(self, spec: ExecutionSpec) -> LaunchResult:
        """Start the process of one message."""
        if spec.task_type != TaskType.CLIENT_APP or spec.runtime_dependency_install:
            return super().launch(spec)
        if (child := os.fork()) == 0:
            _answer(spec)
        self.forked.add(child)
        return LaunchResult.accepted()

    def reconcile(self) -> None:
        """Let go of processes that have ended; others of this process are not ours to wait for."""
        self.forked -= {child for child in self.forked if _ended(child)}


def _ended(child: int) -> bool:
    """Tell whether a child has ended, and let go of it."""
    try:
        return os.waitpid(child, os.WNOHANG)[0] == child
    except ChildProcessError:  # somebody else waited for it
        return True


def _answer(spec: ExecutionSpec) -> NoReturn:
    """Answer one message as `flwr-clientapp` does, and end, whatever happens."""

    def answer() -> None:
        registered_exit_handlers.clear()  # those of the parent, whose connection is not ours to close
        for number in SIGNAL_TO_EXIT_CODE:
            signal.signal(number, signal.SIG_DFL)
        run_clientapp(
            spec.runtime_api_address,
            spec.token,
            spec.insecure,
            validate_and_resolve_root_certificates(spec.root_certificates_path, spec.insecure),
            spec.parent_pid,
            runtime_dependency_install=False,
        )

    end_with(answer, "the client failed")


def end_with(work: Callable[[], object], failed: str) -> NoReturn:
    """Do the work of a process that was forked, and end it: whatever happens, it does not go on as its parent."""
    code = 1
    try:
        work()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        logging.getLogger(__name__).exception(failed)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Import all that clients need, and start their processes as messages come."""
    for name in IMPORTED:
        importlib.import_module(name)
    run_superexec.get_executor = lambda *_, **__: ForkingExecutor()  # type: ignore[attr-defined]
    flower_superexec()


if __name__ == "__main__":
    main()
