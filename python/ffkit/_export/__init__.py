"""Exports of data sets to files of other libraries that have Python packages."""
