"""Data sets of other libraries as ffkit.convert.from_torch() and from_iterable() read them: pictures as they are stored, and names of classes."""
