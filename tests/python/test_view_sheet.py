"""Transforms as text, which C++ reads: the same as those of the package."""
import ast
import dataclasses
import inspect
import os
import subprocess
import typing

from ffkit import _image, _transforms


def canonical(name, value):
    """What a default means: C++ shows a strength where Python has the range that it stands for, or the other way round."""
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, tuple):
        return value
    if name in ("brightness", "contrast", "saturation"):
        return max(0, 1 - value), 1 + value
    return value


def parameters_in_python(made):
    """[(name, default or what stands for none)] of a dataclass or a function."""
    return [
        (name, inspect.Parameter.empty if parameter.default is inspect.Parameter.empty else canonical(name, parameter.default))
        for name, parameter in inspect.signature(made).parameters.items()
    ]


def parameters_in_text(signature):
    """The same of "Resize(size=224, interpolation="bilinear")"."""
    name, rest = signature.split("(", 1)
    call = ast.parse(f"f({rest}", mode="eval").body
    required = [(argument.id, inspect.Parameter.empty) for argument in call.args]
    return name, required + [(keyword.arg, canonical(keyword.arg, ast.literal_eval(keyword.value))) for keyword in call.keywords]


def test_texts_know_the_transforms_of_python():
    lines = subprocess.run([os.environ["FFKIT_TRANSFORM_SIGNATURES"]], check=True, capture_output=True, text=True).stdout.splitlines()
    in_text = dict(map(parameters_in_text, lines))
    assert len(in_text) == len(lines)
    classes = {*typing.get_args(_image.Transform), *typing.get_args(_transforms.Step), *typing.get_args(_image.Augmentation), _image.RandomErasing}
    classes.discard(_image.PythonAugmentation)  # has a function
    functions = [made for name, made in vars(_image).items() if name.startswith("Random") and inspect.isfunction(made)]
    assert all(map(dataclasses.is_dataclass, classes)) and len(functions) == 7
    in_python = {made.__name__: parameters_in_python(made) for made in [*classes, *functions]}
    assert in_text == in_python
