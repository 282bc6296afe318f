"""Flower projects, right and wrong: what is stated, and what is really given."""

import math
from pathlib import Path

import pytest
from scipy import stats

from federate.claims.projects import CENTRAL, LOCAL, flower
from hideseek.federate.claims import Assumptions, Report, check_project
from hideseek.hide.privacy.gaussian import gaussian_epsilon

PAIRS = {
    "DifferentialPrivacyClientSideFixedClipping": "fixedclipping_mod",
    "DifferentialPrivacyClientSideAdaptiveClipping": "adaptiveclipping_mod",
}
MOD = (
    "from flwr.client import ClientApp\nfrom flwr.client.mod import {mod}\napp = ClientApp(client_fn=f, mods=[{mod}])\n"
)


def checked(root: Path, assumptions: Assumptions | None = None) -> Report:
    return check_project(root, assumptions or Assumptions())


def local(root: Path, arguments: str, rounds: int | None = 1, config: str = "") -> Path:
    return flower(root, rounds=rounds, config=config, client=LOCAL.format(arguments=arguments))


def test_the_figure_of_a_sensitivity_that_nothing_ties_to_the_clip(tmp_path: Path) -> None:
    """FACTS: clip 1.0, sensitivity 1e-4: stated ε = 10 is about 2·10⁸ a round."""
    (one,) = checked(local(tmp_path / "p", "1.0, 1e-4, 10.0, 1e-5", rounds=10)).settings
    deviation = 1e-4 * math.sqrt(2 * math.log(1.25e5)) / 10
    mu = 1 / deviation
    assert one.round_epsilon == pytest.approx(mu**2 / 2 + mu * float(stats.norm.isf(1e-5)), rel=1e-4)
    assert one.round_epsilon is not None
    assert one.round_epsilon == pytest.approx(2.13e8, rel=0.01)
    assert one.run_epsilon == pytest.approx(10 * one.round_epsilon, rel=0.01)
    assert (one.stated_epsilon, one.stated_delta, one.verdict) == (10.0, 1e-5, "does not hold")
    assert one.place == "trial/client_app.py:5"
    assert "10,000 times" in one.reason
    (other,) = checked(tmp_path / "p", Assumptions(neighbours="replaced")).settings
    assert other.round_epsilon == pytest.approx(4 * one.round_epsilon, rel=0.01)


def test_noise_that_is_enough_holds_for_a_round_and_not_for_a_run(tmp_path: Path) -> None:
    right = "clipping_norm=1.0, sensitivity=1.0, epsilon=0.5, delta=1e-5"
    assert checked(local(tmp_path / "one", right)).settings[0].verdict == "holds"
    (many,) = checked(local(tmp_path / "many", right, rounds=20)).settings
    assert many.verdict == "does not hold"
    assert "composed" in many.reason
    assert checked(tmp_path / "many", Assumptions(stated_for="round")).settings[0].verdict == "holds"
    (unknown,) = checked(local(tmp_path / "unknown", right, rounds=None)).settings
    assert unknown.verdict == "not known"
    assert checked(tmp_path / "unknown", Assumptions(rounds=1)).settings[0].verdict == "holds"


def test_the_classical_formula_fails_for_large_epsilon(tmp_path: Path) -> None:
    (one,) = checked(local(tmp_path / "p", "1.0, 1.0, 10.0, 1e-5")).settings
    assert one.verdict == "does not hold"
    assert "ε ≤ 1" in one.reason


def test_a_mod_in_no_list_protects_nothing(tmp_path: Path) -> None:
    client = "from flwr.client.mod import LocalDpMod\nmod = LocalDpMod(1.0, 1.0, 0.5, 1e-5)\n"
    (one,) = checked(flower(tmp_path / "p", client=client)).settings
    assert one.verdict == "does not hold"
    assert math.isinf(one.run_epsilon or 0)
    used = client + "MODS = []\nMODS.append(mod)\ndef mods():\n    return MODS\napp = ClientApp(mods=mods())\n"
    assert checked(flower(tmp_path / "q", client=used)).settings[0].verdict == "holds"


@pytest.mark.parametrize(
    "source",
    [
        "import flwr as fl\n\napp = fl.client.ClientApp(mods=[fl.client.mod.LocalDpMod(CLIP, S, E, D)])\n",
        "from flwr.client.mod import LocalDpMod as Noise\napp = ClientApp(mods=[Noise(CLIP, S, epsilon=E, delta=D)])\n",
        "from flwr.client.mod import *\napp = ClientApp(mods=[LocalDpMod(CLIP, S, epsilon=E, delta=D)])\n",
        "from .mods import Local\napp = ClientApp(mods=[Local(CLIP, S, epsilon=E, delta=D)])\n",
    ],
)
def test_names_and_constants_are_followed_through_files(tmp_path: Path, source: str) -> None:
    constants = "from trial.settings import CLIP, S\nE: float = 1 / 2\nD = 10**-5\n"
    mods = "from flwr.client.mod import LocalDpMod as Local\n"
    settings = "import math\nCLIP = math.sqrt(4.0)\nS = CLIP\n"
    (one,) = checked(flower(tmp_path / "p", client=constants + source, mods=mods, settings=settings)).settings
    assert one.setting == "LocalDpMod(clipping_norm=2, sensitivity=2, epsilon=0.5, delta=1e-05)"
    assert one.verdict == "holds"


def test_the_configuration_of_the_run_is_followed(tmp_path: Path) -> None:
    client = """
from flwr.client.mod import LocalDpMod

def mods(context):
    config = context.run_config
    clip = float(config["clip"])
    return [LocalDpMod(clip, float(config["dp.sensitivity"]), config["epsilon"], config.get("delta", 1e-5))]

app = ClientApp(mods=mods(None))
"""
    config = 'clip = 3\nepsilon = 0.25\ndp.sensitivity = "3.0"\n'
    (one,) = checked(flower(tmp_path / "p", config=config, client=client)).settings
    assert one.setting == "LocalDpMod(clipping_norm=3, sensitivity=3, epsilon=0.25, delta=1e-05)"


@pytest.mark.parametrize(
    "arguments",
    [
        "1.0, 1.0, float(os.environ['E']), 1e-5",
        "1.0, 1.0, context.run_config['missing'], 1e-5",
        "1.0, 1.0, TWICE, 1e-5",
        "*settings",
        "**settings",
        "1.0, 1.0, 'much', 1e-5",
        "1.0, 1.0, 9.0**9**9**9, 1e-5",
        "1.0, 1.0, LOOP, 1e-5",
        "1.0, 1.0, 0.0, 1e-5",
        "1.0, 1.0, 1.0, 0.0",
        "1.0, 1.0, float('nan'), 1e-5",
        "1.0, 1.0",
    ],
)
def test_what_cannot_be_told_is_not_known_and_never_fine(tmp_path: Path, arguments: str) -> None:
    names = "TWICE = 1\nTWICE = 2\nLOOP = LOOP + 1\n"
    root = flower(tmp_path / "p", client=names + LOCAL.format(arguments=arguments))
    (one,) = checked(root).settings
    assert one.verdict == "not known"
    assert one.reason.startswith("not known: ")


def test_a_class_of_the_same_name_and_a_mod_of_ones_own_are_not_known(tmp_path: Path) -> None:
    own = "class LocalDpMod:\n    pass\n"
    client = "from .own import LocalDpMod\napp = ClientApp(mods=[LocalDpMod(1.0, 1.0, 0.5, 1e-5)])\n"
    assert [each.verdict for each in checked(flower(tmp_path / "p", client=client, own=own)).settings] == ["not known"]
    client = own + "app = ClientApp(mods=[LocalDpMod(1.0, 1.0, 0.5, 1e-5)])\n"
    assert [each.verdict for each in checked(flower(tmp_path / "q", client=client)).settings] == ["not known"]
    client = "def my_dp_mod(m, c, n):\n    return n(m, c)\napp = ClientApp(mods=[my_dp_mod])\n"
    (one,) = checked(flower(tmp_path / "r", client=client)).settings
    assert (one.setting, one.verdict) == ("my_dp_mod", "not known")
    client = "from flwr.client.mod import LocalDpMod\nclass Mine(LocalDpMod):\n    pass\n"
    assert [each.verdict for each in checked(flower(tmp_path / "s", client=client)).settings] == ["not known"]


@pytest.mark.parametrize("rounds", [1, 25])
def test_central_noise_has_an_epsilon_though_none_is_stated(tmp_path: Path, rounds: int) -> None:
    wrapper = "DifferentialPrivacyServerSideFixedClipping"
    server = CENTRAL.format(
        wrapper=wrapper, arguments="noise_multiplier=2.0, clipping_norm=1.0, num_sampled_clients=10"
    )
    (one,) = checked(flower(tmp_path / "p", rounds=rounds, server=server), Assumptions(delta=1e-6)).settings
    assert one.verdict == "no ε stated"
    assert one.run_epsilon == pytest.approx(gaussian_epsilon(math.sqrt(rounds) / 2, 1e-6))
    assert one.delta == 1e-6
    (other,) = checked(tmp_path / "p", Assumptions(delta=1e-6, neighbours="replaced")).settings
    assert other.round_epsilon == pytest.approx(gaussian_epsilon(1.0, 1e-6))


@pytest.mark.parametrize(("wrapper", "mod"), PAIRS.items())
def test_a_wrapper_and_its_mod_need_each_other(tmp_path: Path, wrapper: str, mod: str) -> None:
    server = CENTRAL.format(
        wrapper=wrapper, arguments="noise_multiplier=0.5, clipping_norm=1.0, num_sampled_clients=50"
    )
    client = MOD.format(mod=mod)
    (both,) = checked(flower(tmp_path / "both", server=server, client=client)).settings
    assert both.verdict == "no ε stated"
    assert both.run_epsilon is not None
    assert both.run_epsilon < math.inf
    (alone,) = checked(flower(tmp_path / "server", server=server)).settings
    assert alone.verdict == "does not hold"
    assert mod in alone.reason
    (clipped,) = checked(flower(tmp_path / "client", client=client)).settings
    assert "no protection" in clipped.reason


def test_adaptive_clipping_counts_the_count_and_the_next_norm(tmp_path: Path) -> None:
    wrapper = "DifferentialPrivacyServerSideAdaptiveClipping"
    server = CENTRAL.format(wrapper=wrapper, arguments="1.0, 40")
    (one,) = checked(flower(tmp_path / "p", server=server)).settings
    update = 1 / math.sqrt(1 / 1.0**2 - 1 / (2 * 2.0) ** 2) * math.exp(-0.2 * 0.5)
    assert one.round_epsilon == pytest.approx(gaussian_epsilon(math.sqrt(update**-2 + 2.0**-2), 1e-5))
    refused = CENTRAL.format(wrapper=wrapper, arguments="1.0, 10")
    assert checked(flower(tmp_path / "q", server=refused)).settings[0].verdict == "not known"


def test_no_noise_and_a_strategy_that_is_never_used(tmp_path: Path) -> None:
    wrapper = "DifferentialPrivacyServerSideFixedClipping"
    (one,) = checked(flower(tmp_path / "p", server=CENTRAL.format(wrapper=wrapper, arguments="0, 1.0, 10"))).settings
    assert one.verdict == "does not hold"
    server = CENTRAL.format(wrapper=wrapper, arguments="1.0, 1.0, 10").replace(
        f"strategy = {wrapper}", f"dp = {wrapper}"
    )
    (one,) = checked(flower(tmp_path / "q", server=server)).settings
    assert one.verdict == "does not hold"
    assert "never used" in one.reason


def test_secure_aggregation_is_no_differential_privacy(tmp_path: Path) -> None:
    (one,) = checked(flower(tmp_path / "p", client=MOD.format(mod="secaggplus_mod"))).settings
    assert one.verdict == "no ε stated"
    assert "no differential privacy" in one.reason


def test_a_limit_of_an_accountant_holds_where_a_strategy_has_it(tmp_path: Path) -> None:
    wrapper = "DifferentialPrivacyServerSideFixedClipping"
    config = "from flwr.serverapp import PrivacyConfig, RdpAccountant\n"
    config += "A = RdpAccountant(PrivacyConfig(target_delta=1e-5, max_epsilon=3.0))\n"
    server = config + CENTRAL.format(wrapper=wrapper, arguments="1.0, 1.0, 10, accountant=A")
    verdicts = {each.setting[:7]: each.verdict for each in checked(flower(tmp_path / "p", server=server)).settings}
    assert verdicts["Privacy"] == "holds"
    server = config + CENTRAL.format(wrapper=wrapper, arguments="1.0, 1.0, 10")
    verdicts = {each.setting[:7]: each.verdict for each in checked(flower(tmp_path / "q", server=server)).settings}
    assert verdicts["Privacy"] == "does not hold"


def test_rounds_that_are_not_known_are_not_guessed(tmp_path: Path) -> None:
    server = "def main(grid, args):\n    FedAvg().start(grid=grid, initial_arrays=None, num_rounds=args.rounds)\n"
    assert checked(flower(tmp_path / "p", server=server)).rounds is None
    server = "def main(grid):\n    FedAvg().start(grid=grid, initial_arrays=None)\n"
    assert checked(flower(tmp_path / "q", rounds=7, server=server)).rounds == 3
    server = "config = ServerConfig(num_rounds=12)\n"
    assert checked(flower(tmp_path / "r", server=server)).rounds == 12


def test_opacus_forgets_the_rounds_before(tmp_path: Path) -> None:
    client = """
from opacus import PrivacyEngine

def train(model, optimizer, loader):
    return PrivacyEngine().make_private_with_epsilon(
        module=model, optimizer=optimizer, data_loader=loader,
        target_epsilon=2.0, target_delta=1e-5, epochs=1, max_grad_norm=1.0)
"""
    (one,) = checked(flower(tmp_path / "p", rounds=16, client=client)).settings
    assert (one.stated_epsilon, one.verdict) == (2.0, "does not hold")
    assert one.round_epsilon == 2.0
    assert 2.0 < (one.run_epsilon or 0) < 32.0
    planned = client.replace("epochs=1,", "epochs=16,")
    right = flower(tmp_path / "q", rounds=16, config="local-epochs = 1\n", client=planned)
    assert checked(right).settings[0].verdict == "holds"


def test_opacus_without_a_target_needs_the_batches(tmp_path: Path) -> None:
    client = "def train(engine, m):\n    engine.make_private(module=m, noise_multiplier=1.1, max_grad_norm=1.0)\n"
    root = flower(tmp_path / "p", rounds=4, client=client)
    assert checked(root).settings[0].verdict == "not known"
    (one,) = checked(root, Assumptions(sample_rate=0.05, local_steps=20)).settings
    assert one.verdict == "no ε stated"
    assert 0 < (one.round_epsilon or 0) < (one.run_epsilon or 0) < math.inf
    other = flower(tmp_path / "q", client=client.replace("max_grad", "poisson_sampling=False, max_grad"))
    assert checked(other, Assumptions(sample_rate=0.05, local_steps=20)).settings[0].verdict == "not known"


@pytest.mark.parametrize(
    ("epsilon", "config", "stated"),
    [
        ('float(c.get("epsilon", 0.1))', 'epsilon = "10.0"\n', 10.0),
        ('c.get("epsilon", 0.1)', "epsilon = 10\n", 10.0),
        ('c.get("epsilon", 0.1)', 'epsilon = "10.0"\n', None),
        ("c.get(name, 0.1)", "epsilon = 10\n", None),
        ("c.get()", "", None),
        ('float(c.get("epsilon", 0.1))', "", 0.1),
        ('float(c.get("epsilon", "0.1"))', "", 0.1),
    ],
)
def test_a_default_counts_only_where_the_configuration_has_no_such_key(
    tmp_path: Path, epsilon: str, config: str, stated: float | None
) -> None:
    body = f"    c = context.run_config\n    return [LocalDpMod(1.0, 1.0, {epsilon}, 1e-5)]\n"
    client = f"from flwr.clientapp.mod import LocalDpMod\ndef mods(context):\n{body}app = ClientApp(mods=mods(None))\n"
    (one,) = checked(flower(tmp_path / "p", config=config, client=client)).settings
    assert one.stated_epsilon == stated
    assert (one.verdict == "not known") == (stated is None)


MADE = "from flwr.clientapp.mod import LocalDpMod\nmod = LocalDpMod(1.0, 1.0, 0.5, 1e-5)\n"


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ("mods = []\nmods.extend([mod])\napp = ClientApp(mods=mods)\n", "holds"),
        ("app = ClientApp(None, [mod])\n", "holds"),
        ("from flwr.clientapp import ClientApp as App\napp = App(None, [mod])\n", "holds"),
        ("mods = [None]\nmods[0] = mod\napp = ClientApp(mods=mods)\n", "holds"),
        ("app = ClientApp(**{'mods': [mod]})\n", "not known"),
        ("app = ClientApp(*[None, [mod]])\n", "not known"),
        ("given = {'mods': [mod]}\napp = make(**given)\n", "not known"),
        ("app = ClientApp(**settings())\n", "not known"),
        ("app = ClientApp()\napp._mods = [mod]\n", "not known"),
        ("def made():\n    return [mod]\napp = build(made())\n", "not known"),
        ("for each in [mod]:\n    use(each)\n", "not known"),
        ("mods = []\nmods.append(mod)\napp = ClientApp()\n", "does not hold"),
        ("def made():\n    return [mod]\napp = ClientApp(mods=[])\n", "does not hold"),
    ],
)
def test_a_mod_is_unused_only_where_all_ways_of_it_end(tmp_path: Path, source: str, verdict: str) -> None:
    (one,) = checked(flower(tmp_path / "p", client=MADE + source)).settings
    assert one.verdict == verdict


@pytest.mark.parametrize("source", ["app = ClientApp(**settings())\n", "app = make([fixedclipping_mod])\n"])
def test_a_strategy_whose_mod_may_be_there_is_not_known(tmp_path: Path, source: str) -> None:
    wrapper = "DifferentialPrivacyClientSideFixedClipping"
    server = CENTRAL.format(wrapper=wrapper, arguments="noise_multiplier=1.0, clipping_norm=1.0, num_sampled_clients=9")
    client = "from flwr.clientapp.mod import fixedclipping_mod\n" + source
    found = checked(flower(tmp_path / "p", server=server, client=client)).settings
    assert {each.verdict for each in found} == {"not known"}


def test_a_mod_may_be_in_a_file_that_is_not_read(tmp_path: Path) -> None:
    wrapper = "DifferentialPrivacyClientSideFixedClipping"
    server = CENTRAL.format(wrapper=wrapper, arguments="noise_multiplier=1.0, clipping_norm=1.0, num_sampled_clients=9")
    found = checked(flower(tmp_path / "p", server=server, client="print 'Python 2'\n")).settings
    assert [each.verdict for each in found] == ["not known", "not known"]


def test_the_reason_is_that_of_the_verdict(tmp_path: Path) -> None:
    (enough,) = checked(local(tmp_path / "p", "1.0, 0.999, 0.5, 1e-5")).settings
    assert enough.verdict == "holds"
    assert "is enough" in enough.reason
    (little,) = checked(local(tmp_path / "q", "1.0, 0.4, 1.0, 1e-5")).settings
    assert little.verdict == "does not hold"
    assert "by 1, 2.5 times as much" in little.reason
    (round_,) = checked(
        local(tmp_path / "r", "1.0, 1.0, 0.5, 1e-5", rounds=9), Assumptions(stated_for="round")
    ).settings
    assert "in each round by itself" in round_.reason


def test_rounds_of_several_runs_add_up(tmp_path: Path) -> None:
    start = "FedAvg().start(grid=grid, initial_arrays=None, num_rounds=10)\n"
    assert checked(flower(tmp_path / "p", server=f"def main(grid):\n    {start}    {start}")).rounds == 20
    server = f"def main(grid):\n    for _ in range(3):\n        {start}"
    assert checked(flower(tmp_path / "q", server=server)).rounds is None


def test_noise_of_opacus_that_is_no_number_is_not_known(tmp_path: Path) -> None:
    client = "def train(engine, m):\n    engine.make_private(module=m, noise_multiplier=float('nan'))\n"
    (one,) = checked(flower(tmp_path / "p", client=client), Assumptions(sample_rate=0.1, local_steps=9)).settings
    assert (one.verdict, one.round_epsilon) == ("not known", None)
