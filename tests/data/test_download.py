import hashlib
import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hideseek.data import download
from hideseek.data.download import Published, fetch
from hideseek.errors import BadInput

CONTENT = b"one two three" * 1000


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT under /whole, half of it under /cut, nothing elsewhere."""

    def do_GET(self) -> None:
        if self.path == "/whole":
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT)
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[: len(CONTENT) // 2])
            self.close_connection = True
        elif self.path == "/silent":
            threading.Event().wait(1.5)
        else:
            self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def published(*addresses: str, content: bytes = CONTENT, algorithm: str = "sha256") -> Published:
    return Published("set.bin", addresses, algorithm, hashlib.new(algorithm, content).hexdigest())


def nobody() -> str:
    """An address where nobody answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/whole"


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_whole_file_is_kept(server: str, tmp_path: Path, algorithm: str) -> None:
    path = fetch(published(f"{server}/whole", algorithm=algorithm), tmp_path)
    assert path == tmp_path / "set.bin"
    assert path.read_bytes() == CONTENT


def test_the_next_address_is_tried(server: str, tmp_path: Path) -> None:
    path = fetch(published(nobody(), f"{server}/gone", f"{server}/cut", f"{server}/whole"), tmp_path)
    assert path.read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused(server: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="so it is damaged or was changed; remove it and get it anew"):
        fetch(published(f"{server}/whole", content=b"something else"), tmp_path)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (lambda server: f"{server}/cut", "cut off after 6500 of 13000 bytes"),
        (lambda server: f"{server}/gone", "404"),
        (lambda _: nobody(), "refused"),
        (lambda server: f"{server}/silent", "timed out"),
    ],
)
def test_failures_say_what_to_do(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: Callable[[str], str], says: str
) -> None:
    monkeypatch.setattr(download, "_TIMEOUT", 0.5)
    with pytest.raises(BadInput) as caught:
        fetch(published(address(server)), tmp_path)
    message = str(caught.value)
    assert says in message
    assert message.startswith("set.bin could not be downloaded (http://127.0.0.1")
    assert message.endswith("point the environment variable HIDESEEK_DATA at that folder.")


def test_a_copy_of_the_users_own_is_taken_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "set.bin").write_bytes(CONTENT)
    monkeypatch.setenv("HIDESEEK_DATA", str(own))
    assert fetch(published(nobody()), tmp_path) == own / "set.bin"
    (own / "set.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(BadInput, match=r"own/set.bin has the sha256 checksum"):
        fetch(published(nobody()), tmp_path)
