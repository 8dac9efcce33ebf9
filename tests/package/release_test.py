#!/usr/bin/env python3
"""tools/release in a repository of its own, with a tools/wheel that makes empty wheels: what is refused, what is made, and what a second run keeps.

    release_test.py SOURCE_DIR
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(sys.argv[1])
WHEEL = """#!/usr/bin/env python3
import os, pathlib, sys
out, machine, python = (sys.argv[sys.argv.index(name) + 1] if name in sys.argv else '' for name in ('--output', '--machine', '--python'))
with open(os.environ['MADE'], 'a') as made:
    made.write(' '.join(sys.argv[1:sys.argv.index('--output')]) + chr(10))
if machine == os.environ.get('BROKEN'):
    sys.exit(1)
tag = {'3.11': 'cp311-cp311', '3.13': 'cp312-abi3'}.get(python[-4:])
name = 'ffkit_train-1.2.3-py3-none-linux_x86_64.whl' if '--train' in sys.argv else f'ffkit-1.2.3-{tag}-manylinux_2_28_{machine}.whl'
pathlib.Path(out, name).touch()
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, 'ffkit')
        commands = pathlib.Path(folder, 'bin')
        commands.mkdir()
        # What wheels need, and two Pythons. The machine's own are not looked at.
        for name, text in {'cmake': '', 'ninja': '', 'nasm': '', 'dpkg-source': '', 'g++-12': '', 'python3.11': 'echo True', 'python3.13': 'echo True', 'python3.12': 'exit 1'}.items():
            (commands / name).write_text(f'#!/bin/sh\n{text}\n')
            (commands / name).chmod(0o755)
        for name in ('git', 'sh', 'env', 'python3'):
            (commands / name).symlink_to(shutil.which(name) if name != 'python3' else sys.executable)
        files = {'tools/wheel': WHEEL, 'base/include/ffkit/base/version.h': '#define FFKIT_VERSION "1.2.3"\n', 'CHANGELOG.md': '# Changelog\n\n## 1.2.3 (unreleased)\nNew.\n\n- One.\n\n## 1.2.2\nOld.\n',
                 'pyproject.toml': (SOURCE / 'pyproject.toml').read_text(), 'packaging/wheel/toolchain.py': (SOURCE / 'packaging/wheel/toolchain.py').read_text(), '.gitignore': '/build\n__pycache__\n',
                 'tools/release': (SOURCE / 'tools/release').read_text().replace("Path('/usr/bin')", f"Path('{commands}')")}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        environment = {'PATH': str(commands), 'PYENV_ROOT': folder, 'MADE': f'{folder}/made', 'HOME': folder}

        def git(*words):
            subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *words], cwd=root, check=True, stdout=subprocess.DEVNULL, env=environment)

        def release(tag, **variables):
            done = subprocess.run([root / 'tools/release', tag], capture_output=True, text=True, env={**environment, **variables})
            return done.stdout + done.stderr, done.returncode

        def refused(tag, expected):
            said, status = release(tag)
            assert status == 1 and f'tools/release: error: {expected}' in said, said

        git('init', '-q')
        git('add', '.')
        git('commit', '-q', '-m', 'a')
        refused('v1.2.3', "there is no tag 'v1.2.3'")
        git('tag', 'v1.2.3')
        git('tag', 'v1.3.0')
        refused('v1.3.0', 'the tag is v1.3.0, and base/include/ffkit/base/version.h has version 1.2.3')
        (root / 'stray').touch()
        refused('v1.2.3', "1 files are changed or not tracked, such as 'stray'")
        (root / 'stray').unlink()
        git('commit', '-q', '--allow-empty', '-m', 'b')
        refused('v1.2.3', 'v1.2.3 is not what is checked out')
        git('checkout', '-q', 'v1.2.3')
        (commands / 'nasm').rename(commands / 'other')
        refused('v1.2.3', 'nasm cannot be found; tools/setup --no-torch --wheel')
        (commands / 'other').rename(commands / 'nasm')

        out = root / 'build/releases/v1.2.3'
        out.mkdir(parents=True)
        out.with_name('v1.2.3.commit').write_text(subprocess.check_output(['git', 'rev-parse', 'HEAD'], cwd=root, text=True).strip())
        (out / 'ffkit_reader-1.2.3-py3-none-any.whl').touch()  # which pip makes by what it fetches
        said, status = release('v1.2.3', BROKEN='aarch64')
        assert status == 1 and 'the same command continues from here' in said, said
        said, status = release('v1.2.3')
        assert status == 0, said
        own = os.uname().machine
        wheels = [f'ffkit-1.2.3-{tag}-manylinux_2_28_{machine}.whl' for tag in ('cp311-cp311', 'cp312-abi3') for machine in ('aarch64', 'x86_64')]
        train = ['ffkit_train-1.2.3-py3-none-linux_x86_64.whl'] if own == 'x86_64' else []
        expected = sorted([*wheels, *train, 'ffkit_reader-1.2.3-py3-none-any.whl', 'ffkit-1.2.3.tar.gz', 'notes.md'])
        assert sorted(path.name for path in out.iterdir()) == sorted([*expected, 'SHA256SUMS']), said
        made = pathlib.Path(environment['MADE']).read_text().splitlines()
        assert len(made) == len(set(made)) + 1 == len(wheels) + len(train) + 1, made  # the broken one twice
        assert (out / 'notes.md').read_text() == '# ffkit 1.2.3\n\nNew.\n\n- One.\n'
        sums = dict(reversed(line.split()) for line in (out / 'SHA256SUMS').read_text().splitlines())
        assert sums == {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in expected}
        for machine in ('x86_64', 'aarch64'):
            assert f'left out: ffkit-1.2.3-cp310-cp310 for {machine}, whose Python is not here' in said, said


if __name__ == '__main__':
    main()
