"""`fetch` against a server on this machine that fails in every way a real one does."""

import contextlib
import hashlib
import random
import subprocess
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pioneers.data import download, fetch
from pioneers.data.registry import FILES, PublicFile

NAME = "set/part.bin"
CONTENT = random.Random(0).randbytes(200_003)
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Answers request after request by the script, then well. Remembers where each request began."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked, self.over = [], [], threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/part.bin"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        act = self.server.script.pop(0) if self.server.script else "well"
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append(start)
        if isinstance(act, int):
            self.send_error(act)
            return
        begin = 0 if act == "ignores range" else start
        body = CONTENT[begin:]
        if act == "never ends":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                while not self.server.over.is_set():
                    self.wfile.write(body)
            return
        if act == "corrupts":
            body = bytes(len(body))
        elif act == "sends too much":
            body += CONTENT
        self.send_response(206 if begin else 200)
        if begin:
            told = 7 if act == "sends another part" else begin
            self.send_header("Content-Range", f"bytes {told}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if act in ("stalls", "truncates", "hangs up"):
            body = body[: HALF - begin]
        if act != "hangs up":
            self.wfile.write(body)
        if act == "stalls":
            self.wfile.flush()
            self.server.over.wait(30)


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(monkeypatch, tmp_path, server):
    """The folder of the cache; the server's file is registered, and no time is lost in waiting."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("PIONEERS_DATA", raising=False)
    monkeypatch.setattr(download, "WAIT", 0.001)
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    register(monkeypatch, server.url)
    return tmp_path / "cache" / "pioneers"


def register(monkeypatch, *urls, sha256=(SHA256,)):
    monkeypatch.setitem(FILES, NAME, PublicFile(len(CONTENT), sha256, "drawn at random", urls))


def assert_fetched(cache, name=NAME):
    path = fetch(name)
    assert path == cache / name
    assert path.read_bytes() == CONTENT
    assert not path.with_name("part.bin.part").exists()


def test_a_file_is_downloaded_once_with_a_progress_bar(server, cache, monkeypatch, capsys):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert_fetched(cache)
    assert "set/part.bin: 100%" in capsys.readouterr().err
    assert_fetched(cache)
    assert server.asked == [0]


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        (["truncates"], [0, HALF]),
        (["stalls"], [0, HALF]),
        (["hangs up"], [0, 0]),
        (["truncates", "ignores range"], [0, HALF]),
        (["truncates", "sends another part"], [0, HALF, HALF]),
        (["truncates", "corrupts"], [0, HALF, 0]),
        (["corrupts"], [0, 0]),
        (["sends too much"], [0, 0]),
        (["never ends"], [0, 0]),
        ([500, 503, 429], [0, 0, 0, 0]),
        (["truncates", 500, "stalls"], [0, HALF, HALF, HALF]),
    ],
)
def test_a_download_survives_what_servers_do(server, cache, script, asked):
    server.script = list(script)
    assert_fetched(cache)
    assert server.asked == asked


def test_what_arrived_is_kept_for_the_next_call(server, cache, monkeypatch):
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    server.script = ["truncates"]
    with pytest.raises(RuntimeError, match=r"the connection ended after 100,001 of 200,003 bytes"):
        fetch(NAME)
    assert not (cache / NAME).exists()
    assert_fetched(cache)
    assert server.asked == [0, HALF]


def test_a_stalled_server_is_given_up(server, cache, monkeypatch):
    monkeypatch.setattr(download, "ATTEMPTS", 2)
    server.script = ["stalls", "stalls"]
    with pytest.raises(RuntimeError, match=r"no byte for 0\.2 seconds"):
        fetch(NAME)
    assert not (cache / NAME).exists()


def test_a_file_that_is_not_there_is_asked_for_once(server, cache):
    server.script = [404]
    with pytest.raises(RuntimeError, match=r"part\.bin \(HTTP 404\)"):
        fetch(NAME)
    assert server.asked == [0]


def test_the_second_address_serves_where_the_first_fails(server, cache, monkeypatch):
    register(monkeypatch, server.url + "?first", server.url + "?second")
    server.script = [404, "truncates"]
    assert_fetched(cache)
    assert server.asked == [0, 0, HALF]


def test_wrong_bytes_are_refused_for_good(server, cache):
    server.script = ["corrupts"] * download.ATTEMPTS
    with pytest.raises(RuntimeError, match="its bytes are not those of the published file"):
        fetch(NAME)
    assert [path.name for path in (cache / "set").iterdir()] in ([], ["part.bin.lock"])


@pytest.mark.parametrize("damage", [CONTENT[:-1], bytes(len(CONTENT))], ids=["short", "changed"])
def test_a_damaged_file_in_the_cache_is_fetched_again(server, cache, damage):
    assert_fetched(cache)
    (cache / NAME).write_bytes(damage)
    assert_fetched(cache)
    assert server.asked == [0, 0]
    (cache / NAME).write_bytes(damage)
    server.script = [404]
    with pytest.raises(RuntimeError, match="HTTP 404"):
        fetch(NAME)
    assert not (cache / NAME).exists()


def test_a_part_left_by_a_download_that_was_killed_at_its_end_is_used(server, cache):
    (cache / "set").mkdir(parents=True)
    (cache / f"{NAME}.part").write_bytes(CONTENT)
    assert_fetched(cache)
    assert server.asked == []


def test_offline_the_error_is_one_line_that_says_how_to_get_on(server, cache, monkeypatch):
    register(monkeypatch, "http://127.0.0.1:1/part.bin")
    with pytest.raises(RuntimeError) as caught:
        fetch(NAME)
    message = str(caught.value)
    assert "\n" not in message
    for words in (
        f"cannot get {NAME}: PIONEERS_DATA is not set; not in the cache {cache}",
        "http://127.0.0.1:1/part.bin ([Errno",
        f"Set PIONEERS_DATA to a folder that holds {NAME} (drawn at random)",
        "data that needs no network: language_reference, digits, photographs or translation_pairs",
    ):
        assert words in message


def test_a_file_nobody_serves_must_be_supplied(cache, monkeypatch):
    register(monkeypatch)
    with pytest.raises(RuntimeError, match=r"no known URL offers exactly this file\. Set PIONEERS_DATA"):
        fetch(NAME)


def test_a_folder_with_the_file_needs_neither_cache_nor_network(server, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    (tmp_path / NAME).write_bytes(CONTENT)
    register(monkeypatch, server.url, sha256=("0" * 64, SHA256))  # the second hash is as good as the first
    assert fetch(NAME) == tmp_path / NAME
    assert server.asked == []
    assert not cache.exists()


def test_a_wrong_file_in_the_folder_is_named_and_kept(server, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    (tmp_path / NAME).write_bytes(CONTENT[:-1])
    with pytest.raises(RuntimeError, match=rf"part\.bin is not the published file.*{SHA256}; replace it"):
        fetch(NAME)
    assert (tmp_path / NAME).exists()
    assert server.asked == []


def test_a_folder_without_the_file_is_only_the_first_place_to_look(server, cache, monkeypatch, tmp_path):
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path))
    assert_fetched(cache)
    monkeypatch.setenv("PIONEERS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(RuntimeError, match=r"nowhere is not a folder; correct it, or unset it"):
        fetch(NAME)


def test_a_cache_that_cannot_be_written_says_what_to_set(server, cache, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(RuntimeError, match=r"file/pioneers cannot be written.*set XDG_CACHE_HOME"):
        fetch(NAME)


def test_without_the_variable_the_cache_is_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert download.cache_folder() == tmp_path / ".cache" / "pioneers"


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(ValueError, match=r"no public file 'sst2/trian\.tsv'.*sst2/train\.tsv"):
        fetch("sst2/trian.tsv")


def test_two_processes_at_once_download_once(server, cache, monkeypatch):
    script = textwrap.dedent(f"""
        from pioneers.data import fetch
        from pioneers.data.registry import FILES, PublicFile
        FILES[{NAME!r}] = PublicFile({len(CONTENT)}, ({SHA256!r},), "", ({server.url!r},))
        assert fetch({NAME!r}).stat().st_size == {len(CONTENT)}
    """)
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert server.asked == [0]
    assert_fetched(cache)


def test_two_downloads_at_the_same_moment_wait_for_one_another(server, cache):
    server.script = ["stalls"]  # the first is slow, so that the second finds it at work
    paths = []
    threads = [threading.Thread(target=lambda: paths.append(fetch(NAME))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [cache / NAME] * 2
    assert server.asked == [0, HALF]
