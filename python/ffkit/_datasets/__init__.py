"""Data sets of other libraries for ffkit.convert.from_torch() and from_iterable(): stored pictures
and names of classes."""
