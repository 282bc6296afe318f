"""What `hideseek federate init` writes: an app without dependencies, keys, policies; and what it refuses to write."""

import stat
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key
from cryptography.x509.verification import PolicyBuilder, Store

from federation_trials import SMALL, written
from hideseek.cli import main
from hideseek.data import load
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement
from hideseek.federate.certificates import alternative, write_certificates, write_node_key
from hideseek.federate.policy import Policy
from hideseek.federate.project import absolute
from hideseek.federate.settings_files import read_node, read_server

pytest.importorskip("flwr")
from hideseek.federate.flower.control import app_digest
from hideseek.federate.flower.trial import Trial


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    more = ("--scheme", "gradient-pruning:p=0.9", "--rounds", "4", "--hosts", "server.example.org", "10.0.0.1")
    return written(tmp_path_factory.mktemp("project") / "trial", *more)


def test_the_app_has_no_dependencies_and_two_lines_a_side(folder: Path) -> None:
    project = tomllib.loads((folder / "app" / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == []
    assert Path(project["tool"]["flwr"]["app"]["config"]["server"]) == folder / "server" / "server.toml"
    for side in ("client", "server"):
        lines = (folder / "app" / "federation" / f"{side}_app.py").read_text().split("\n")
        assert len([line for line in lines if line]) == 2
    assert Agreement.from_json((folder / "app" / "federation" / "agreement.json").read_text()).rounds == 4


def test_the_policy_of_a_node_allows_this_app_and_what_was_planned(folder: Path) -> None:
    for place, node in enumerate(Trial.of(folder).nodes):
        settings = read_node(node)
        assert settings.policy == node / "policy.toml"
        policy = Policy.read(node / "policy.toml")
        assert policy.apps == (app_digest(folder / "app"),)
        assert policy.schemes == ("gradient-pruning:p=0.9",)
        assert policy.cohort == 10  # of the 16 images of an update
        assert policy.rounds == 4 + 3  # a round that was interrupted is asked for again
        assert settings.part is not None
        assert (settings.part.number, settings.part.of) == (place, 2)
        for name in ("key", "policy.toml", "node.toml"):
            assert stat.S_IMODE((node / name).stat().st_mode) == 0o600
    for name in ("ca.key", "server.key"):
        assert stat.S_IMODE((folder / "server" / name).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("more", "cohort", "said"),
    [
        (("--batch", "8", "--local-steps", "2"), 10, "of fewer than 10 images."),
        (("--batch", "6", "--local-steps", "1"), 6, "of fewer than 6 images (fewer than 10 are planned:"),
        (("--protocol", "encodings", "--scheme", "instahide-inside:k=4"), 10, "of fewer than 10 images."),
        (("--protocol", "encodings", "--scheme", "instahide-inside:k=4", "--nodes", "20"), 8, "fewer than 8 images ("),
    ],
)
def test_the_cohort_is_10_or_all_that_is_planned_which_is_said(
    tmp_path: Path, more: tuple[str, ...], cohort: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "trial", *more)
    assert said in capsys.readouterr().out
    assert {Policy.read(node / "policy.toml").cohort for node in Trial.of(folder).nodes} == {cohort}


def test_attacks_on_encodings_are_not_run_unasked_and_the_policy_says_why(tmp_path: Path) -> None:
    folder = written(tmp_path / "trial", "--protocol", "encodings", "--scheme", "instahide-inside:k=4")
    assert Policy.read(folder / "node-1" / "policy.toml").inspect == ()
    assert "far longer than to send them" in (folder / "node-1" / "policy.toml").read_text()


def test_the_servers_certificate_holds_for_its_names(folder: Path) -> None:
    server = folder / "server"
    root = x509.load_pem_x509_certificate((server / "ca.crt").read_bytes())
    signed = x509.load_pem_x509_certificate((server / "server.crt").read_bytes())
    trusted = PolicyBuilder().store(Store([root]))
    for host in ("localhost", "127.0.0.1", "server.example.org", "10.0.0.1"):
        trusted.build_server_verifier(alternative(host)).verify(signed, [])  # type: ignore[arg-type]
    with pytest.raises(x509.verification.VerificationError):
        trusted.build_server_verifier(alternative("other.example.org")).verify(signed, [])  # type: ignore[arg-type]


def test_certificates_of_another_authority_do_not_hold(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_certificates(tmp_path / name, ["localhost"])
    root = x509.load_pem_x509_certificate((tmp_path / "a" / "ca.crt").read_bytes())
    signed = x509.load_pem_x509_certificate((tmp_path / "b" / "server.crt").read_bytes())
    verifier = PolicyBuilder().store(Store([root])).build_server_verifier(x509.DNSName("localhost"))
    with pytest.raises(x509.verification.VerificationError):
        verifier.verify(signed, [])


def test_keys_of_nodes_are_as_ssh_keygen_writes_them(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.hashes import SHA384

    write_node_key(tmp_path)
    private = load_ssh_private_key((tmp_path / "key").read_bytes(), None)
    public = load_ssh_public_key((tmp_path / "key.pub").read_bytes())
    assert isinstance(public, EllipticCurvePublicKey)
    assert public.curve.name == "secp384r1"
    public.verify(private.sign(b"message", ECDSA(SHA384())), b"message", ECDSA(SHA384()))  # type: ignore[call-arg,arg-type]


def test_settings_of_the_server_are_read_as_they_were_written(folder: Path) -> None:
    settings, test = read_server(folder / "server" / "server.toml")
    assert settings.out == folder / "server" / "out"
    assert (settings.strategy, settings.least, settings.record, test) == ("fedavg", 2, False, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "does not say data"),
        ("data = 3", "data must be of the kind str"),
        ('data = "faces"\nrecord = 1', "record must be of the kind bool"),
        ('data = "faces"\npart = true', "part must be of the kind int"),
        ('data = "faces"\nsecret = 1', "'secret', which is unknown"),
        ("data = ", "cannot be read"),
    ],
)
def test_settings_that_are_not_understood_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "node.toml").write_text(text)
    with pytest.raises(BadInput, match=said):
        read_node(tmp_path)


def test_one_address_for_each_node(tmp_path: Path) -> None:
    folder = tmp_path / "trial"
    arguments = ["--data", "faces", "faces", *SMALL[2:], "--scheme", "none"]
    assert main(["federate", "init", str(folder), *arguments]) == 0
    assert [read_node(node).part for node in Trial.of(folder).nodes] == [None, None]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scheme", "no-such"], "no-such"),
        (["--protocol", "encodings"], "one scheme"),
        (["--hosts", "a b" * 100], "neither a name nor an address"),
        (["--hosts", "a b"], "neither a name nor an address"),
        (["--hosts", "server.example.org", "server;rm"], "neither a name nor an address"),
        (["--nodes", "0"], "one node at least"),
        (["--nodes", "3", "--data", "faces", "faces"], "there are 2 addresses"),
        (["--nodes", "200"], "160 images cannot be dealt to 200"),
        (["--scheme", "intra-instahide:k=90"], "a party has 80 images, and the scheme mixes 90"),
        (["--scheme", "intra-instahide:k=200", "--data", "faces", "faces"], "a party has 160 images"),
        (["--strategy", "nonsense"], "there is no strategy"),
        (["--epochs", "0"], "--epochs must be 1 or more"),
        (["--epochs", "-1"], "--epochs must be 1 or more"),
        (["--timeout", "inf"], "must be finite"),
        (["--timeout", "nan"], "must be finite"),
        (["--least", "3"], "--least is 3, and there are 2 parties"),
        (["--test", "npz:other.npz"], "other.npz"),
        (["--model", "no-such"], "no-such"),
    ],
)
def test_what_cannot_be_written_is_said_and_nothing_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["federate", "init", str(tmp_path / "trial"), *SMALL, *arguments]) != 0
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_test_images_are_at_an_address_that_means_the_same_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    images = load("faces", size=12)
    np.savez(tmp_path / "test.npz", images=images.images.numpy(), labels=images.labels.argmax(1).numpy())
    folder = written(tmp_path / "trial", "--data", "npz:test.npz", "--test", "npz:test.npz")
    _, test = read_server(folder / "server" / "server.toml")
    assert test == f"npz:{tmp_path / 'test.npz'}"


def test_a_folder_that_exists_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["federate", "init", str(folder), *SMALL]) == 1
    assert "exists already" in capsys.readouterr().err


def test_running_what_is_no_federation_and_a_port_that_is_taken(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import socket

    assert main(["federate", "run", str(tmp_path)]) == 1
    assert "no folder of a federation" in capsys.readouterr().err
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["federate", "run", str(folder), "--port", str(taken.getsockname()[1])]) == 1
    assert "is taken" in capsys.readouterr().err
    for port in ("-1", "65536"):
        assert main(["federate", "run", str(folder), "--port", port]) == 1
        assert f"there is no port {port}" in capsys.readouterr().err


def test_without_flower_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hideseek.cli.federate_simulate.find_spec", lambda name: None)
    for verb in (["init", "--data", "faces"], ["run"], ["superlink"], ["node", "--superlink", "a:1"]):
        assert main(["federate", verb[0], str(tmp_path / "x"), *verb[1:]]) == 1
        assert "pip install 'hideseek[federated]'" in capsys.readouterr().err


def test_every_verb_is_listed_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["federate", "--help"]) == 0
    listed = capsys.readouterr().out
    for verb in ("simulate", "init", "run", "superlink", "node", "check"):
        assert f"\n  {verb} " in listed
        with pytest.raises(SystemExit) as ended:
            main(["federate", verb, "--help"])
        assert not ended.value.code
        assert "Try:" in capsys.readouterr().out


def test_addresses_mean_the_same_everywhere() -> None:
    assert absolute("folder:patients") == f"folder:{Path.cwd() / 'patients'}"


def test_the_script_is_one_that_a_shell_reads(folder: Path) -> None:
    subprocess.run(["sh", "-n", str(folder / "run.sh")], check=True)
    assert (folder / "run.sh").stat().st_mode & 0o100
