"""ffconvert as these tests call it."""
import os
import subprocess


class Refused(Exception):
    """ffconvert ended with an error, which is the text."""


def convert(kind, src, dst, *options):
    """In the order of the source, by two threads. Returns the notes."""
    command = [os.environ["FFKIT_FFCONVERT"], kind, src, dst, "--order", "sequential", "--num-threads", 2, *options]
    run = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if run.returncode != 0:
        raise Refused(run.stderr)
    return run.stderr
