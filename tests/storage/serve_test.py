"""ffinspect serve of a set in SeaweedFS: the answers are those of the same set on a disk."""

import subprocess

from served_answers import answers, expect_equal
from servers import FOLDER
from sets import ENDPOINT, FFCONVERT, SeaweedFs, demo, use

weed = SeaweedFs()
use(**{ENDPOINT: weed.url})
ours = demo(FOLDER / "ours", "--images", 200, "--val-images", 40, "--classes", 4, "--size", 64)
subprocess.run([FFCONVERT, "copy", ours, "s3://bucket/ours"], check=True, capture_output=True)
expect_equal(answers(ours), answers("s3://bucket/ours"), "s3")
print("ok")
