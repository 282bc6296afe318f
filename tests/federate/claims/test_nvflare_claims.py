"""NVFlare jobs, right and wrong: what is stated, and what is really given."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from federate.claims.projects import job
from hideseek.errors import BadInput
from hideseek.federate.claims import Assumptions, Report, check_project

FILTERS = "nvflare.app_common.filters"
SVT: dict[str, Any] = {"path": f"{FILTERS}.svt_privacy.SVTPrivacy", "args": {}}


def checked(root: Path, assumptions: Assumptions | None = None) -> Report:
    return check_project(root, assumptions or Assumptions())


def test_the_sparse_vector_filter_spends_far_more_than_it_states(tmp_path: Path) -> None:
    root = job(tmp_path / "p", [SVT], rounds=50)
    (one,) = checked(root, Assumptions(parameters=7_033_282)).settings
    assert (one.stated_epsilon, one.verdict) == (0.1, "does not hold")
    assert one.round_epsilon == pytest.approx(70_333.0)
    assert one.run_epsilon == pytest.approx(50 * 70_333.0)
    assert not one.at_least
    assert one.place.startswith("app/config/config_fed_client.json:")
    (unknown,) = checked(root).settings
    assert unknown.at_least
    assert unknown.round_epsilon == pytest.approx(0.2)
    assert unknown.verdict == "does not hold"


def test_an_epsilon_for_sending_is_part_of_what_is_stated(tmp_path: Path) -> None:
    right = {**SVT, "args": {"epsilon": 0.5, "epsilon_release": 1.5}}
    (one,) = checked(job(tmp_path / "p", [right], rounds=1)).settings
    assert (one.stated_epsilon, one.round_epsilon, one.verdict) == (2.0, 2.0, "holds")


def test_variables_of_the_file_are_followed(tmp_path: Path) -> None:
    found = {**SVT, "args": {"epsilon": "{budget}", "noise_var": "{missing}"}}
    (one,) = checked(job(tmp_path / "p", [found], top={"budget": 2.0})).settings
    assert one.verdict == "not known"
    assert "missing" in one.reason
    found = {**SVT, "args": {"epsilon": "{budget}"}}
    (one,) = checked(job(tmp_path / "q", [found], top={"budget": 2.0})).settings
    assert one.stated_epsilon == 2.0
    server = {"num_rounds": 9}
    report = checked(job(tmp_path / "r", [], rounds="{num_rounds}", where="config_fed_server", top=server))
    assert report.rounds == 9


@pytest.mark.parametrize(
    ("path", "word"),
    [
        (f"{FILTERS}.percentile_privacy.PercentilePrivacy", "no differential privacy at all"),
        (f"{FILTERS}.exclude_vars.ExcludeVars", "no differential privacy"),
        (f"{FILTERS}.statistics_privacy_filter.StatisticsPrivacyFilter", "no differential privacy"),
        ("nvflare.app_opt.he.model_encryptor.HEModelEncryptor", "hidden from the server alone"),
    ],
)
def test_other_filters_are_no_differential_privacy(tmp_path: Path, path: str, word: str) -> None:
    (one,) = checked(job(tmp_path / "p", [{"path": path, "args": {"gamma": 0.01}}])).settings
    assert one.verdict == "no ε stated"
    assert word in one.reason
    assert one.run_epsilon is None


@pytest.mark.parametrize(
    ("kind", "where", "word"),
    [
        ("task_data_filters", "config_fed_client", "receives"),
        ("task_result_filters", "config_fed_server", "after they have left"),
    ],
)
def test_a_filter_in_the_wrong_place_protects_nothing(tmp_path: Path, kind: str, where: str, word: str) -> None:
    found = {**SVT, "args": {"epsilon": 0.1}}
    (one,) = checked(job(tmp_path / "p", [found], kind=kind, where=where)).settings
    assert one.verdict == "does not hold"
    assert word in one.reason


def test_filters_of_others_are_not_known_if_they_promise_something(tmp_path: Path) -> None:
    names = ["mine.LocalDifferentialPrivacy", "mine.Rename", "mine.SVTPrivacy"]
    filters: list[dict[str, Any]] = [{"path": name, "args": {}} for name in names]
    filters.append({"path": "mine.Other", "args": {"epsilon": 1.0}})
    found = {each.setting: each.verdict for each in checked(job(tmp_path / "p", filters)).settings}
    assert found == dict.fromkeys(("LocalDifferentialPrivacy", "SVTPrivacy", "Other"), "not known")


def test_filters_in_python_and_policies_of_sites_are_read(tmp_path: Path) -> None:
    root = job(tmp_path / "p", [])
    source = f"from {FILTERS}.svt_privacy import SVTPrivacy\njob.to(SVTPrivacy(0.1, epsilon=0.3), 'site-1')\n"
    (root / "job.py").write_text(source)
    group = {"tasks": ["train"], "filters": [{"name": "PercentilePrivacy"}]}
    policy = json.dumps({"scopes": [{"name": "public", "task_result_filters": [group]}]})
    (root / "privacy.json").write_text(policy)
    found = checked(root).settings
    assert [each.setting.partition("(")[0] for each in found] == ["SVTPrivacy", "PercentilePrivacy"]
    assert found[0].stated_epsilon == 0.3


def test_hocon_is_read_where_its_library_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = job(tmp_path / "p", [])
    config = root / "app" / "config"
    (config / "config_fed_client.json").rename(config / "config_fed_client.conf")
    assert checked(root).settings == ()  # JSON is HOCON
    (config / "config_fed_client.conf").write_text("format_version = 2\ntask_result_filters = []\n")
    monkeypatch.setitem(sys.modules, "pyhocon", None)
    with pytest.raises(BadInput, match="pyhocon is not installed"):
        checked(root)
    content = {"task_result_filters": [{"filters": [{"name": "PercentilePrivacy"}]}]}
    read = SimpleNamespace(as_plain_ordered_dict=lambda: content)
    library = SimpleNamespace(ConfigFactory=SimpleNamespace(parse_string=lambda text: read))
    monkeypatch.setitem(sys.modules, "pyhocon", library)
    assert len(checked(root).settings) == 1
    (config / "config_fed_client.conf").write_text('include url("http://127.0.0.1/")\na = 1\n')
    with pytest.raises(BadInput, match="includes"):
        checked(root)


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1, "a": 2}', "[" * 100_000])
def test_what_is_no_configuration_is_one_sentence(tmp_path: Path, text: str) -> None:
    root = job(tmp_path / "p", [])
    (root / "app" / "config" / "config_fed_client.json").write_text(text)
    with pytest.raises(BadInput, match=r"config_fed_client\.json"):
        checked(root)


@pytest.mark.parametrize("filters", [3, [3], [{"filters": 3}], [{"filters": [3, {}, {"args": 3}]}]])
def test_lists_of_another_shape_are_passed_over(tmp_path: Path, filters: object) -> None:
    assert checked(job(tmp_path / "p", [], top={"task_result_filters": filters})).settings == ()


def test_defaults_on_the_server_are_judged_like_the_same_values_written_out(tmp_path: Path) -> None:
    (plain,) = checked(job(tmp_path / "p", [SVT], where="config_fed_server")).settings
    written = {**SVT, "args": {"epsilon": 0.1}}
    (same,) = checked(job(tmp_path / "q", [written], where="config_fed_server")).settings
    assert plain.verdict == same.verdict == "does not hold"
    assert plain.stated_epsilon == same.stated_epsilon == 0.1


def test_rounds_of_several_workflows_add_up(tmp_path: Path) -> None:
    def rounds(name: str, *numbers: object) -> int | None:
        workflows = [{"id": str(place), "args": {"num_rounds": each}} for place, each in enumerate(numbers)]
        top = {"num_rounds": 7, "workflows": [*workflows, {"id": "last"}]}
        return checked(job(tmp_path / name, [], where="config_fed_server", top=top)).rounds

    assert rounds("p", 5, 6) == 11
    assert rounds("q", "{num_rounds}", 5) == 12
    assert rounds("r", "{missing}", 5) is None
    assert rounds("s") == 7


def test_rounds_of_a_script_and_of_the_job_that_it_wrote_count_once(tmp_path: Path) -> None:
    root = job(tmp_path / "p", [], rounds=5)
    (root / "job.py").write_text("FedAvg(num_clients=2, num_rounds=5)\n")
    assert checked(root).rounds == 5
