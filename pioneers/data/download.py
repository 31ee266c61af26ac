"""Fetch public files by name, from a folder, the cache or the network, and verify every byte."""

import difflib
import hashlib
import http.client
import os
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path

from filelock import FileLock

from pioneers.data.registry import FILES, PublicFile
from pioneers.progress import progress

DATA_VARIABLE = "PIONEERS_DATA"
ATTEMPTS = 4  # rounds over all URLs of a file
WAIT = 1.0  # seconds before the second round; doubles every round
TIMEOUT = 20.0  # seconds without data before a connection is given up
CHUNK = 1 << 16

PERMANENT = {400, 401, 403, 404, 405, 410, 451}  # HTTP errors for which retrying is useless


class DamagedError(Exception):
    """A server sent something other than the file."""


FAILURES = (
    urllib.error.URLError,
    http.client.HTTPException,
    ssl.SSLError,
    TimeoutError,
    ConnectionError,
    DamagedError,
)


def fetch(name: str) -> Path:
    """Return the local path of a public file, verified by sha256; download it if needed.

    The file is looked for in the folder named by the environment variable ``PIONEERS_DATA``, then in the
    cache (``~/.cache/pioneers``, or below ``XDG_CACHE_HOME``), then downloaded to the cache. An interrupted
    download resumes, in the same call or a later one. Only a complete, verified file gets the final name.
    Processes that want the same file at once wait for the first.

    Args:
        name: such as ``"multi30k/train.en.gz"``; the error for an unknown name suggests known ones.

    Raises:
        ValueError: there is no public file of this name.
        RuntimeError: the file cannot be fetched; the message says what was tried and what to do.
    """
    if name not in FILES:
        close = ", ".join(difflib.get_close_matches(name, FILES, cutoff=0.3)) or ", ".join(FILES)
        raise ValueError(f"there is no public file {name!r}; did you mean one of: {close}?")
    file = FILES[name]
    supplied = _supplied(name, file)
    if supplied:
        return supplied
    target = cache_folder() / name
    if target.is_file() and is_intact(target, file):
        return target
    if not file.urls:
        raise RuntimeError(_unavailable(name, "no known URL offers exactly this file"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not (target.is_file() and is_intact(target, file)):
                target.unlink(missing_ok=True)
                _download(name, file, target)
    except OSError as error:
        raise RuntimeError(
            f"the cache {cache_folder()} cannot be written ({error}); "
            "set XDG_CACHE_HOME to a folder of your own with room in it"
        ) from error
    return target


def cache_folder() -> Path:
    """Return the folder of downloads; it may be deleted at any time."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pioneers"


def is_intact(path: Path, file: PublicFile) -> bool:
    """Return True if the file at ``path`` is the published one."""
    if path.stat().st_size != file.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() in file.sha256


def _supplied(name: str, file: PublicFile) -> Path | None:
    if not os.environ.get(DATA_VARIABLE):
        return None
    folder = Path(os.environ[DATA_VARIABLE]).expanduser()
    if not folder.is_dir():
        raise RuntimeError(f"{DATA_VARIABLE}={folder} is not a folder; correct it, or unset it")
    path = folder / name
    if path.is_file() and not is_intact(path, file):
        raise RuntimeError(
            f"{path} is not the published file: its sha256 is not {file.sha256[0]}; "
            f"replace it, remove it, or unset {DATA_VARIABLE}"
        )
    return path if path.is_file() else None


def _download(name: str, file: PublicFile, target: Path) -> None:
    """Try every URL in turn until the file is complete, then move it into place in one step."""
    part = target.with_name(target.name + ".part")
    failures: dict[str, str] = {}  # URL → its last failure
    dead: set[str] = set()
    for attempt in range(ATTEMPTS):
        for url in (url for url in file.urls if url not in dead):
            try:
                _continue(url, part, file, name)
            except FAILURES as error:
                failures[url] = _reason(error)
                if isinstance(error, urllib.error.HTTPError) and error.code in PERMANENT:
                    dead.add(url)
            else:
                os.replace(part, target)
                return
        if dead.issuperset(file.urls):
            break
        if attempt + 1 < ATTEMPTS:
            time.sleep(WAIT * 2**attempt)
    raise RuntimeError(_unavailable(name, "; ".join(f"{url} ({why})" for url, why in failures.items())))


def _continue(url: str, part: Path, file: PublicFile, name: str) -> None:
    """Fetch the missing bytes of ``part`` and verify it. If the connection fails, what arrived is kept."""
    have = part.stat().st_size if part.exists() else 0
    if have < file.size:
        headers = {"User-Agent": "pioneers"} | ({"Range": f"bytes={have}-"} if have else {})
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT) as answer:
            resumed = answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if answer.status == http.client.PARTIAL_CONTENT and not resumed:
                raise DamagedError("the server sent another part of the file than was requested")
            _append(answer, part, start=have if resumed else 0, size=file.size, name=name)
        have = part.stat().st_size
        if have < file.size:
            raise DamagedError(f"the connection ended after {have:,} of {file.size:,} bytes")
    if not is_intact(part, file):
        part.unlink()
        raise DamagedError("its bytes are not those of the published file")


def _append(answer: http.client.HTTPResponse, part: Path, *, start: int, size: int, name: str) -> None:
    """Write the answer to ``part`` from byte ``start`` on, at most one chunk beyond ``size``."""
    bar = progress((), desc=name, total=size, initial=start, unit="B", unit_scale=True)
    with bar, part.open("ab" if start else "wb") as stream:
        while stream.tell() <= size and (chunk := answer.read1(CHUNK)):
            stream.write(chunk)
            bar.update(len(chunk))


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    if isinstance(error, TimeoutError):
        return f"no byte for {TIMEOUT:g} seconds"
    return str(getattr(error, "reason", error))


def _unavailable(name: str, why: str) -> str:
    folder = os.environ.get(DATA_VARIABLE)
    looked = f"not in {DATA_VARIABLE}={folder}" if folder else f"{DATA_VARIABLE} is not set"
    return (
        f"cannot get {name}: {looked}; not in the cache {cache_folder()}; {why}. Set {DATA_VARIABLE} to a "
        f"folder that holds {name} ({FILES[name].source}), or use data that needs no network: "
        "language_reference, digits, photographs or translation_pairs of pioneers.data"
    )
