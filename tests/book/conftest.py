"""What the tests of the built book share: the site in a folder of its host, like on GitHub."""

import contextlib
import functools
import http.server
import threading

import pytest


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serve(folder, site):
    """Serve a site from its own folder ``course`` of the host; give its address."""
    (folder / "course").symlink_to(site)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/course/"
        server.shutdown()


@pytest.fixture(scope="module")
def address(html, tmp_path_factory):
    """Where the built book is served."""
    with serve(tmp_path_factory.mktemp("host"), html) as address:
        yield address
