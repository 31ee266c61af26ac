"""What the tests of the built book share: the site in a folder of its host, like on GitHub."""

import contextlib
import functools
import http.server
import threading
from pathlib import Path

import pytest


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def send_error(self, code, *arguments):
        """As GitHub does, show the site's own page in place of one that is missing."""
        page = Path(self.directory, "course", "404.html")
        if code != 404 or not page.is_file():
            super().send_error(code, *arguments)
            return
        self.send_response(404)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page.read_bytes())


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
