"""Data sets written and read by engines: Ray, Spark, Dask."""
