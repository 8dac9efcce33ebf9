"""The options of ffkit.convert: their signatures, help and checks are those of the tables."""
import inspect
import pathlib
import pydoc
import re
import subprocess
import sys
import typing

import pytest

from ffkit import _ffkit, convert

TYPES = {"bool": "bool", "int": "int", "float": "float", "str": "str", "size": "int", "names": "Sequence[str]", "path": "PathLike[str]", "paths": "PathLike[str]", "mapping": "Mapping[str, "}


def static_parameters(function):
    """Names and types as mypy and pyright see them: __signature__ is of the tables."""
    hints = typing.get_type_hints(function)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    own = {name: hints[name] for name in names}
    return {**own, **typing.get_type_hints(typing.get_args(hints["options"])[0])} if "options" in hints else own


@pytest.mark.parametrize("name", [*(name for name in _ffkit.option_tables() if name not in ("pictures", "conversion")), "append"])
def test_signatures_are_those_of_the_tables(name):
    function = getattr(convert, name)
    table = _ffkit.option_tables()["merge" if name == "append" else name]
    options = {option["name"]: option for option in table["options"]}
    static = static_parameters(function)
    assert ("src" in static) == table["path"] or name in ("merge", "append")
    assert set(static) - {"src", "dst", "sources", "dry_run", "progress", "on_note", "storage_options", "source_storage_options"} == set(options)
    shown = inspect.signature(function).parameters
    text = inspect.getdoc(function)
    for option, facts in options.items():
        assert TYPES[facts["type"]] in str(static[option]) or facts["choices"] and "Literal" in str(static[option]), (option, static[option])
        if facts["choices"] and "Literal" in str(static[option]):
            literal = next(t for t in (static[option], *typing.get_args(static[option])) if typing.get_origin(t) is typing.Literal)
            assert set(typing.get_args(literal)) >= set(facts["choices"]), option
        if option != "store" or name != "transcode":
            assert shown[option].default == facts["default"], option
        if facts["is_offered"]:
            assert f"\n{option}" in text and facts["help"].split()[0] in text, option


def test_help_shows_every_option_with_its_meaning_range_and_default():
    text = pydoc.render_doc(convert.folder, renderer=pydoc.plaintext)
    for words in ("classes_from: Optional[Literal['train', 'all']] = 'train'", "threads: int = 0", "zstd_dictionary: int | str = '0'", "shard_size = '256M'",
                  "Size of a shard", "1M .. 1T", "default: all that are", "jpeg_quality = 90", "1 .. 100", "dry_run = False", 'With store="smart"'):  # fmt: skip
        assert words in text, words
    assert "--" not in text
    assert "bad_samples = 'fail'" in inspect.getdoc(convert.ConvertOptions) and "raw_share = 0.5" in inspect.getdoc(convert.PictureOptions)


def test_options_are_checked_before_anything_is_opened(tmp_path):
    for options, words in (({"num_threads": 2000}, "threads is 2000; it must be 0 .. 1024"), ({"jpeg_quality": 0}, "jpeg_quality is 0; it must be 1 .. 100"),
                           ({"classes_from": "val"}, "classes_from is 'val'; it must be one of train, all"), ({"part": "3/2"}, "3/2"),
                           ({"zstd_dictionary": 4096}, "also give a zstd level"), ({"splits": ["a", "a"]}, "'splits': 'a' appears twice")):  # fmt: skip
        with pytest.raises(ValueError, match=re.escape(words)):
            convert.folder("nowhere", tmp_path / "dst", **options)
    for options, words in (({"num_threads": "many"}, "threads is 'many', expected int"), ({"thread": 1}, "there is no option 'thread'"), ({"shuffle": False}, "there is no option 'shuffle'"), ({"resume": 1}, "expected bool")):
        with pytest.raises(TypeError, match=words):
            convert.folder("nowhere", tmp_path / "dst", **options)


def test_the_page_of_options_is_that_of_the_tables():
    root = pathlib.Path(__file__).parents[3]
    made = subprocess.run([sys.executable, root / "tools/maintain/options-page"], capture_output=True, text=True, check=True).stdout
    assert made == (root / "docs/options.md").read_text(), "tools/maintain/options-page > docs/options.md"
