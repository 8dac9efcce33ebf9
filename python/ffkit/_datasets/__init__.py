"""Other libraries' data sets for from_torch() and from_iterable(): pictures, names of classes."""
