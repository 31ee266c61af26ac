"""Messages between the grader and the jail: a JSON header and raw array bytes. Nothing is ever unpickled.

A message from the jail may be forged, so every size and type is checked before it is used.
"""

import json
import math
import struct
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pioneers.checks.exercise import Outcome, Probe

FRAME = struct.Struct(">IQ")  # bytes of the header, bytes of all arrays
MAX_HEADER, MAX_BYTES = 16 << 20, 64 << 20
MAX_ERROR = 2000  # characters of an error
MAX_AXES = 16
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
        torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
    )
}  # fmt: skip
PLAIN = bool | int | float | str | None


class BadMessage(ValueError):
    """A message is invalid or too large."""


def pack(content: Any) -> bytes:
    """Return a message as bytes: plain values, lists, tuples, dictionaries with text keys, and tensors.

    Raises:
        BadMessage: the content holds something else, or is too large.
    """
    arrays: list[bytes] = []
    header = json.dumps(_write(content, arrays)).encode()
    size = sum(map(len, arrays))
    if len(header) > MAX_HEADER or size > MAX_BYTES:
        raise BadMessage(f"{len(header) + size:,} bytes are more than a message may have")
    return FRAME.pack(len(header), size) + header + b"".join(arrays)


def unpack(read: Callable[[int], bytes]) -> Any:
    """Read and return the next message.

    Args:
        read: returns exactly as many bytes as asked for.

    Raises:
        BadMessage: the bytes are not a valid message.
    """
    header_size, size = FRAME.unpack(read(FRAME.size))
    if header_size > MAX_HEADER or size > MAX_BYTES:
        raise BadMessage("a message larger than allowed")
    header, arrays = read(header_size), memoryview(bytearray(read(size)))
    try:
        return _read(json.loads(header), _Shelf(arrays))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, RuntimeError) as error:
        raise BadMessage(f"not a message: {type(error).__name__}") from error


def _write(content: Any, arrays: list[bytes]) -> Any:
    if isinstance(content, Tensor):
        name, meta = str(content.dtype).removeprefix("torch."), content.is_meta
        if name not in DTYPES or content.layout is not torch.strided:
            raise BadMessage(f"a {content.layout} tensor of {name} cannot be sent")
        if not meta:
            flat = content.detach().cpu().clone(memory_format=torch.contiguous_format).reshape(-1)
            arrays.append(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
        return {"tensor": [name, list(content.shape), meta]}
    if isinstance(content, dict):
        return {"dict": [[str(key), _write(value, arrays)] for key, value in content.items()]}
    if isinstance(content, list | tuple):
        return {type(content).__name__: [_write(value, arrays) for value in content]}
    if type(content) in (bool, int, float, str) or content is None:
        return content
    raise BadMessage(f"a {type(content).__name__} cannot be sent")


class _Shelf:
    """The arrays of a message, taken one after the other."""

    def __init__(self, arrays: memoryview) -> None:
        self.rest = arrays

    def take(self, name: str, shape: list[int], meta: bool) -> Tensor:
        dtype = DTYPES[name]
        if len(shape) > MAX_AXES or not all(type(n) is int and 0 <= n <= MAX_BYTES for n in shape):
            raise BadMessage("no such shape")
        if meta:
            return torch.empty(shape, dtype=dtype, device="meta")
        size = math.prod(shape) * dtype.itemsize
        if size > len(self.rest):
            raise BadMessage("fewer numbers than declared")
        piece, self.rest = self.rest[:size], self.rest[size:]
        if not size:
            return torch.empty(shape, dtype=dtype)
        if dtype is torch.bool:  # a byte may hold more than 0 and 1
            return torch.frombuffer(piece, dtype=torch.uint8).ne(0).reshape(shape)
        return torch.frombuffer(piece, dtype=torch.uint8).clone().view(dtype).reshape(shape)


def _read(content: Any, shelf: _Shelf) -> Any:
    if isinstance(content, PLAIN):
        return content
    ((kind, inside),) = content.items()
    if kind == "tensor":
        name, shape, meta = inside
        return shelf.take(name, shape, meta)
    if kind == "dict":
        return {str(key): _read(value, shelf) for key, value in inside}
    if kind in ("list", "tuple"):
        values = [_read(value, shelf) for value in inside]
        return tuple(values) if kind == "tuple" else values
    raise BadMessage(f"no such kind: {kind}")


def outcome_to_message(outcome: Outcome) -> dict[str, Any]:
    """Return an :class:`Outcome` as content for :func:`pack`."""
    return {
        "value": outcome.value,
        "kind": outcome.kind,
        "error": outcome.error,
        "where": outcome.where,
        "refused": outcome.refused,
        "changed": list(outcome.changed),
        "grads": dict(outcome.grads),
        "backward": outcome.backward,
    }


def outcome_from_message(content: Any, probe: Probe) -> Outcome:
    """Return the outcome that a jail sent for ``probe``, without parts that no call can produce.

    Raises:
        BadMessage: the content is not an outcome.
    """
    if not isinstance(content, dict):
        raise BadMessage("no outcome")
    value, kind = content.get("value"), _text(content.get("kind"))
    elsewhere = any(isinstance(x, Tensor) and x.is_meta for x in probe.args.values())
    if not isinstance(value, Tensor) or (value.is_meta and not elsewhere):
        kind = kind or ("" if value is None else "tensor without numbers")
        value = None
    grads, changed = content.get("grads"), content.get("changed")
    error, refused = _text(content.get("error")), _text(content.get("refused"))
    if value is None and not (kind or error or refused):
        raise BadMessage("an outcome without a result")
    return Outcome(
        value=None if error or refused else value,
        kind=kind,
        error=error,
        where=_text(content.get("where")),
        refused=refused,
        changed=tuple(name for name in probe.args if isinstance(changed, list) and name in changed),
        grads=_gradients(grads, probe) if isinstance(grads, dict) else {},
        backward=_text(content.get("backward")),
    )


def _gradients(grads: dict[str, Any], probe: Probe) -> dict[str, Tensor | None]:
    """Return the gradients that fit their arguments; None for those that do not."""
    fitting: dict[str, Tensor | None] = {}
    for name, x in probe.args.items():
        grad = grads.get(name)
        if isinstance(x, Tensor) and name in grads:
            fits = isinstance(grad, Tensor) and _alike(grad, x)
            fitting[name] = grad if fits else None
    return fitting


def _alike(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.is_meta == b.is_meta


def _text(content: Any) -> str:
    """Return at most :data:`MAX_ERROR` printable characters of ``content``."""
    text = content if isinstance(content, str) else ""
    return "".join(c for c in text[:MAX_ERROR] if c.isprintable() or c == "\n")
