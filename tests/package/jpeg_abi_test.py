"""Compiles what uses libjpeg with the headers of its other ABI: jpeg_abi_test.py COMPILER SOURCE_DIR JCONFIG

Debian's libjpeg-turbo has the ABI 62; other systems build it as 8. (The tests of pixels were run by hand with 2.1.5 and 3.1.3 of ABI 8.)
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

compiler, source, jconfig = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
text = jconfig.read_text()
if not re.search(r"define\s+JPEG_LIB_VERSION\s+62", text):
    print(f"skipped: {jconfig} is not of ABI 62")
    sys.exit(77)
files = sorted([*(source / "image/codec").glob("jpeg_*.cpp"), *(source / "image/jpeg").glob("*.cpp")])
if len(files) < 4:
    sys.exit(f"FAILED: only {len(files)} files are there")

with tempfile.TemporaryDirectory(prefix="ffkit-jpeg-") as folder:
    pathlib.Path(folder, "jconfig.h").write_text(re.sub(r"(define\s+JPEG_LIB_VERSION\s+)62", r"\g<1>80", text))

    def compile_one(path):
        includes = [folder, source / "image", source / "image/include", source / "base/include", source / "format/include", source]
        command = [compiler, "-std=c++20", "-fsyntax-only", "-DFFKIT_JPEG_HUFFMAN", *(f"-I{place}" for place in includes), path]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True)
        return "" if done.returncode == 0 else f"{path}\n{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(compile_one, files) if problem]
if problems:
    sys.exit("\n".join(["FAILED", *problems]))
print(f"{len(files)} files")
