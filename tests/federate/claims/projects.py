"""Projects that tests write: a Flower app or an NVFlare job, of as few lines as settings need."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FLOWER = """
[project]
name = "trial"
version = "1.0"

[tool.flwr.app.components]
serverapp = "trial.server_app:app"
clientapp = "trial.client_app:app"

[tool.flwr.app.config]
"""
LOCAL = """
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import LocalDpMod

app = ClientApp(mods=[LocalDpMod({arguments})])
"""
CENTRAL = """
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg, {wrapper}

app = ServerApp()

@app.main()
def main(grid, context):
    strategy = {wrapper}(FedAvg(), {arguments})
    strategy.start(grid=grid, initial_arrays=None, num_rounds=context.run_config["num-server-rounds"])
"""


def flower(
    root: Path, *, rounds: int | None = 1, config: str = "", client: str = "", server: str = "", **more: str
) -> Path:
    """Write a Flower project."""
    settings = (f"num-server-rounds = {rounds}\n" if rounds is not None else "") + config
    package = root / "trial"
    package.mkdir(parents=True)
    (root / "pyproject.toml").write_text(FLOWER + settings)
    for name, text in {"__init__": "", "client_app": client, "server_app": server, **more}.items():
        (package / f"{name}.py").write_text(text)
    return root


def job(
    root: Path,
    filters: list[dict[str, Any]],
    *,
    rounds: object = 5,
    kind: str = "task_result_filters",
    where: str = "config_fed_client",
    top: Mapping[str, Any] | None = None,
) -> Path:
    """Write an NVFlare job."""
    config = root / "app" / "config"
    config.mkdir(parents=True)
    server: dict[str, Any] = {"workflows": [{"id": "sag", "args": {"num_rounds": rounds}}], **(top or {})}
    client: dict[str, Any] = {"format_version": 2}
    content = {"config_fed_client": client, "config_fed_server": server}
    content[where][kind] = [{"tasks": ["train"], "filters": filters}]
    content[where].update(top or {})
    for name, each in content.items():
        (config / f"{name}.json").write_text(json.dumps(each, indent=2))
    (root / "meta.json").write_text("{}")
    return root
