"""Configurations: frozen, keyword-only dataclasses that convert to JSON and back."""

import dataclasses
import difflib
import json
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Base of every model's configuration; a subclass adds fields, checks and its table of presets.

    Example:
        >>> from pioneers.models import GPTConfig
        >>> config = GPTConfig.preset("gpt2", dropout=0.0)
        >>> config.d_model, config.replace(num_layers=2).num_layers
        (768, 2)
        >>> GPTConfig.from_json(config.to_json()) == config
        True
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return a published or book-sized configuration by ``name``, with ``changes`` to its fields.

        Raises:
            ValueError: there is no such preset or no such field.
        """
        if name not in cls.presets:
            raise ValueError(
                f"{cls.__name__} has no preset {name!r}{_suggest(name, cls.presets)}; "
                f"known presets: {', '.join(cls.presets)}"
            )
        return cls.from_dict({**cls.presets[name], **changes})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping of fields, in which a list is a tuple; an unknown or missing one is named.

        Raises:
            ValueError: a field is unknown, missing, or has a value the model cannot have.
        """
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for name in values:
            if name not in fields:
                raise ValueError(
                    f"{cls.__name__} has no field {name!r}{_suggest(name, fields)}; "
                    f"its fields: {', '.join(fields)}"
                )
        missing = [n for n, f in fields.items() if f.default is dataclasses.MISSING and n not in values]
        if missing:
            raise ValueError(f"{cls.__name__} needs a value for {', '.join(missing)}")
        return cls(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return self.from_dict({**dataclasses.asdict(self), **changes})

    def to_json(self) -> str:
        """Write this configuration as JSON text, which :meth:`from_json` reads."""
        return json.dumps(dataclasses.asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: the text is not JSON, or names a field this configuration does not have.
        """
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{cls.__name__}: not valid JSON ({error})") from error
        if not isinstance(values, dict):
            raise ValueError(f"{cls.__name__}: expected a JSON object, got {type(values).__name__}")
        return cls.from_dict(values)

    def _require_positive(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            self._require(isinstance(value, int) and value > 0, name, "a positive integer")

    def _require_positive_or_none(self, name: str) -> None:
        if getattr(self, name) is not None:
            self._require_positive(name)

    def _require_dropout(self, dropout: float) -> None:
        self._require(0 <= dropout < 1, "dropout", "at least 0 and less than 1")

    def _require_known(self, name: str, known: Collection[str]) -> None:
        self._require(getattr(self, name) in known, name, f"one of {', '.join(known)}")

    def _require_heads_divide(self, d_model: int, num_heads: int) -> None:
        if d_model % num_heads:
            raise ValueError(
                f"{type(self).__name__}: num_heads={num_heads} must divide d_model={d_model}, "
                f"because every head gets d_model / num_heads of the width"
            )

    def _require(self, good: bool, name: str, what: str) -> None:
        if not good:
            raise ValueError(f"{type(self).__name__}: {name} must be {what}, not {getattr(self, name)!r}")


def _suggest(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
