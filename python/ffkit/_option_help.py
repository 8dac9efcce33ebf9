"""What the converter's tables of options say, in the signatures and docstrings of ffkit.convert.

The functions are written with their types, for mypy, pyright and editors; meaning, ranges and defaults come from the extension's tables, which ffconvert --help
shows too.
"""

from __future__ import annotations

import inspect
import textwrap
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from . import _ffkit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_TABLES: dict[str, dict[str, Any]] = _ffkit.option_tables()
_TABLES["from_source"] = {"options": _TABLES["pictures"]["options"] + _TABLES["conversion"]["options"]}


def documented(table: str) -> Callable[[_Function], _Function]:
    """Gives a function the signature and the docstring of its table."""

    def document(function: _Function) -> _Function:
        hints = typing.get_type_hints(function)
        by_name = {option["name"]: option for option in _TABLES[table]["options"]}
        parameters = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not parameter.VAR_KEYWORD:
                default = by_name[parameter.name]["default"] if parameter.name in by_name and parameter.default is not parameter.empty else parameter.default
                parameters.append(parameter.replace(annotation=hints[parameter.name], default=default))
                continue
            for name, hint in typing.get_type_hints(typing.get_args(hints[parameter.name])[0]).items():
                default = by_name[name]["default"] if name in by_name else _OWN[name][0]
                parameters.append(inspect.Parameter(name, parameter.KEYWORD_ONLY, annotation=hint, default=default))
        names = {parameter.name for parameter in parameters}
        own = [name for name in _OWN if name in names]
        function.__doc__ = "\n\n".join(filter(None, [inspect.getdoc(function), _listed(_TABLES[table]["options"], names), *map(_own_text, own)]))
        setattr(function, "__signature__", inspect.Signature(parameters, return_annotation=hints.get("return", inspect.Signature.empty)))
        return function

    return document


def document_options(options: type, table: str) -> None:
    """Gives a TypedDict the docstring of its table."""
    names = set(typing.get_type_hints(options))
    texts = [inspect.getdoc(options), _listed(_TABLES[table]["options"], names), *(_own_text(name) for name in _OWN if name in names)]
    options.__doc__ = "\n\n".join(filter(None, texts))


# Those of Python alone: default, meaning.
_OWN: dict[str, tuple[Any, str]] = {
    "dry_run": (False, "Writes nothing, and returns a Summary of what would be written"),
    "progress": (True, "True: a bar of tqdm, where that is installed; False; or a function that is called with a ProgressUpdate"),
    "on_note": (None, "Is called with sentences that the user should know; by default they are warnings"),
    "pixels": ("png", "How pictures that come as pixels are stored, as in Writer"),
}


def _own_text(name: str) -> str:
    return _entry(f"{name} = {_OWN[name][0]!r}", _OWN[name][1])


def _listed(options: list[dict[str, Any]], names: set[str]) -> str:
    texts, group = [], ""
    for option in options:
        if option["name"] not in names or not option["is_offered"]:
            continue
        if option["group"] != group:
            group = option["group"]
            texts.append(f"{group}:")
        texts.append(option_text(option))
    return "\n\n".join(texts)


def option_text(option: dict[str, Any]) -> str:
    """One option as docstrings have it: its default, then its meaning, its range and what happens by default."""
    default = f" = {option['default']!r}" if option["default"] is not None else ""
    # Where the meaning goes through the choices, they need not be listed again.
    is_said = option["choices"] and all(f"{choice}:" in option["help"] for choice in option["choices"])
    values = f"; {option['range']}" if option["range"] and not is_said else ""
    words = f"; default: {option['default_text']}" if option["default"] is None and option["default_text"] else ""
    return _entry(option["name"] + default, option["help"] + values + words)


def _entry(head: str, text: str) -> str:
    return f"{head}\n" + textwrap.fill(text, 120, initial_indent="    ", subsequent_indent="    ")
