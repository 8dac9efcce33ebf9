"""Data sets written as the files of other libraries, where Python's own libraries write them."""
