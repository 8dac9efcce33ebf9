#!/usr/bin/env python3
"""The house: rooms, their folders and the arrows between them, as docs/house.md shows them.

    tests/house/house_test.py            says what is wrong, one line each; exit status 1 when there is something
    tests/house/house_test.py --arrows   prints which folder includes which, with the number of files and lines of each
    tests/house/house_test.py --table    the same as a table of Markdown

An arrow is an #include. A folder may include those that stand before it in its room's list below, and what the room may include of other
rooms; so there is no circle. A public header belongs to the folder of the .cpp of its name, or to the folder of its name; one without either
counts as what it includes.
"""
import ast
import collections
import os
import pathlib
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Each room's folders, bottom to top; '' is the room's own. A new folder gets a place here and a
# line in the room's README.md.
FOLDERS = {
    'base': ['', 'options', 'bytes', 'file', 'machine'],
    'launch': [''],
    'storage': ['http', 'requests', 'addresses', 'xml', 'signing', 'credentials', 'protocol', 'stores', 'azure', 'writer', 'cache', 'reader'],
    'format': ['', 'schema', 'record', 'shard', 'v1', 'reader', 'dataset'],
    'image': ['jpeg', 'dct', 'bitmaps', 'codec', 'exif', 'resize', 'random_numbers', 'pixels', 'transform', 'transform_text', 'moves', 'views'],
    'loader': ['threads', 'sampling', 'io', 'fields', 'batch', 'views', 'decode', ''],
    'nuscenes': [''],
    'nuscenes/loader': [''],
    'pose': [''],
    'text': ['words', ''],
    'text/loader': [''],
    'converter': ['places', 'input', 'identity', 'pack', 'plan', 'output', 'samples', 'merge', 'remove', 'copy', 'leftovers', 'v1', ''],
    # What several sources need stands first.
    'sources': ['archives', 'pictures', 'files', 'numbers', 'rows', 'parquet/module', 'arrow', 'imagenet', 'folder', 'pairs', 'persons', 'coco', 'yolo', 'voc', 'webdataset', 'jsonl', 'text',
                'tfrecord', 'parquet', 'mds', 'litdata', 'recordio', 'beton', 'lmdb', 'transcode', 'nuscenes/tables', 'nuscenes', 'demo', 'demo_pose', 'demo_nuscenes', ''],
    'trainer': ['model', 'tasks', 'options', 'device', 'distributed', 'ops', 'models/blocks', 'models', 'data', 'optim', 'files', 'report',
                'checkpoint', 'step', 'tasks/classification', 'tasks/bevformer/loss', 'tasks/bevformer/network',
                'tasks/bevformer/data', 'tasks/bevformer/evaluation', 'tasks/bevformer',
                'tasks/rootnet/network', 'tasks/rootnet/data', 'tasks/rootnet',
                'tasks/gpt2/network', 'tasks/gpt2/parallel', 'tasks/gpt2/data', 'tasks/gpt2/generation', 'tasks/gpt2', ''],
    'trainer/cuda': [''],
    'python/src': ['', 'convert'],
    'tools/common': [''],
    'inspect': ['text', 'data', 'draw', 'scenes', 'persons', 'views', 'export', 'forms', 'duplicates', 'http', 'serve', '', 'commands'],
    'tools': [''],
    'tools/ffconvert': [''],
    'tools/ffeval': [''],
    'tools/fftrain': [''],
    'tools/ffgenerate': [''],
    'tools/programs': [''],
}
# What a room may include of others: a whole room, or ROOM/FOLDER of it ('format/' is format's own
# folder).
ARROWS = {
    'base': [],
    'storage': ['base'],
    'format': ['base', 'storage'],
    'launch': ['base'],
    'image': ['base', 'format/', 'format/schema'],
    'loader': ['base', 'format', 'image'],
    'nuscenes': ['base', 'format'],
    'nuscenes/loader': ['base', 'nuscenes', 'loader', 'image', 'format'],
    'pose': ['base', 'format'],
    'text': ['base', 'format'],
    'text/loader': ['base', 'text', 'loader', 'format'],
    'converter': ['base', 'launch', 'text', 'image', 'format', 'storage'],
    # Of the engine, a source knows what a source is and where its files are: neither plan, pack nor
    # output. Rows of Arrow become samples, too.
    'sources': ['base', 'converter/places', 'converter/input', 'converter/samples', 'nuscenes', 'pose', 'text', 'image', 'format', 'storage'],
    'trainer': ['base', 'launch', 'nuscenes/loader', 'nuscenes', 'text/loader', 'text', 'pose', 'loader', 'image', 'format'],
    'trainer/cuda': ['trainer'],
    'python/src': ['base', 'tools/common', 'launch', 'nuscenes/loader', 'nuscenes', 'loader', 'sources', 'converter', 'image', 'format', 'storage'],
    'tools/common': ['base', 'storage'],
    'inspect': ['base', 'tools/common', 'loader', 'nuscenes', 'pose', 'text', 'image', 'format', 'storage', 'trainer/tasks/classification'],
    'tools': ['base', 'launch', 'trainer', 'format'],
    'tools/ffconvert': ['base', 'tools/common', 'sources', 'converter', 'nuscenes', 'pose', 'image', 'format'],
    'tools/ffeval': ['base', 'tools/common', 'nuscenes', 'pose', 'format'],
    'tools/fftrain': ['base', 'launch', 'tools', 'tools/common', 'trainer', 'format', 'storage'],
    'tools/ffgenerate': ['base', 'launch', 'tools', 'tools/common', 'trainer', 'format'],
    'tools/programs': ['tools/common'],
}
MAX_FILES = 25
MAX_LINES = 500
MAX_COMMENT_COLUMNS = 100
# Files whose docstrings may still be wider. It shall become empty.
WIDE_DOCSTRINGS = set()
COMMENT = re.compile(r'\s*(#|//)')  # a line of comment in C++, JavaScript, Python, shell and CMake
# Longer ones, and why.
LONG_FILES = {
    'sources/imagenet/imagenet_classes.cpp': 'a table of 1,000 names',
    'tests/messages/sentences.txt': 'what all errors say',
    'tests/package/public_names.txt': 'all public names',
}
# Folders without sources of their own to judge: declarations of another library.
NOT_OURS = {'trainer/gloo_headers', 'trainer/cuda_headers'}


def code_files():
    found = []
    for top in ('base', 'storage', 'format', 'launch', 'image', 'loader', 'nuscenes', 'pose', 'text', 'converter', 'sources', 'trainer', 'python', 'inspect', 'tools', 'tests', 'bench', 'examples'):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [f for f in folders if f not in ('__pycache__', 'build')]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(f for f in found if not any(f.startswith(n + '/') for n in NOT_OURS))


def room_and_folder(path):
    """('loader', 'io') of loader/io/read_plan.h; (None, '') outside of all rooms."""
    folder = os.path.dirname(path)
    for room in sorted(FOLDERS, key=len, reverse=True):
        if folder == room:
            return room, ''
        if folder.startswith(room + '/'):
            return room, folder[len(room) + 1:]
    return None, ''


class House:
    def __init__(self):
        self.problems = []
        self.files = code_files()
        self.sources = [f for f in self.files if re.search(r'\.(h|cpp|cu|cpp\.in)$', f)]
        self.texts = {f: open(os.path.join(ROOT, f), encoding='utf-8').read() for f in self.sources}
        self.owner = self.owners()
        self.edges = collections.defaultdict(set)  # (room, folder) -> (room, folder): files that include
        for file in self.sources:
            if self.owner.get(file):
                for target in self.reached(file, set()):
                    if self.owner[target] != self.owner[file]:
                        self.edges[self.owner[file], self.owner[target]].add((file, target))

    def owners(self):
        """The room and folder that a source belongs to; None for a public header without a .cpp or folder, nothing outside of the rooms."""
        cpp = collections.defaultdict(list)
        owner = {}
        for file in self.sources:
            room, folder = room_and_folder(file)
            if room and not folder.startswith('include/'):
                owner[file] = room, folder
                cpp[room, os.path.basename(file).split('.')[0]].append(owner[file])
        for file in self.sources:
            room, folder = room_and_folder(file)
            if room and folder.startswith('include/'):
                stem = os.path.basename(file).split('.')[0]
                places = cpp[room, stem] or [(room, f) for f in FOLDERS[room] if f == stem]
                owner[file] = places[0] if places else None
        return owner

    def targets(self, file):
        """Files of the rooms that `file` includes."""
        room, _ = room_and_folder(file)
        for form, name in re.findall(r'^\s*#\s*include ([<"])([^">]+)[">]', self.texts[file], re.M):
            if form == '<':
                candidates = [f'{r}/include/{name}' for r in FOLDERS] if name.startswith('ffkit/') else []
                if not candidates:
                    continue
            else:
                candidates = [os.path.normpath(os.path.join(base, name)) for base in (os.path.dirname(file), room, '')]
            known = [c for c in candidates if c in self.texts]
            if known:
                yield known[0]
            elif name != 'all_models.cpp':
                self.problems.append(f'{file}: there is no {name} to include')

    def reached(self, file, seen):
        for target in self.targets(file):
            if target in seen or target not in self.owner:
                continue
            seen.add(target)
            if self.owner[target]:
                yield target
            else:
                yield from self.reached(target, seen)

    def check_arrows(self):
        for (room, folder), _ in collections.Counter(o for o in self.owner.values() if o).items():
            if folder not in FOLDERS[room]:
                self.problems.append(f'{room}/{folder}: a new folder; give it a place in FOLDERS of tests/house/house_test.py')
        for (here, there), pairs in sorted(self.edges.items()):
            (room, folder), (other, other_folder) = here, there
            if folder not in FOLDERS[room] or other_folder not in FOLDERS[other]:
                continue
            if room == other:
                allowed = FOLDERS[room].index(other_folder) < FOLDERS[room].index(folder)
            else:
                allowed = other in ARROWS[room] or f'{other}/{other_folder}' in ARROWS[room]
            for file, target in sorted(pairs) if not allowed else ():
                self.problems.append(f'{file}: includes {target}, but {name_of(here)} must not know {name_of(there)}')

    def check_sizes(self):
        counts = collections.Counter(os.path.dirname(f) for f in self.files if os.path.basename(f) not in ('CMakeLists.txt', 'README.md'))
        for folder, count in sorted(counts.items()):
            if count > MAX_FILES:
                self.problems.append(f'{folder}: {count} files, more than {MAX_FILES}; find the seam')
        for file in self.files:
            content = pathlib.Path(ROOT, file).read_bytes()
            if file.endswith('.md') or b'\0' in content:  # pages, and data that are no text
                continue
            self.check_comments(file, content.decode(errors='replace'))
            lines = content.count(b'\n')
            if lines > MAX_LINES and file not in LONG_FILES:
                self.problems.append(f'{file}: {lines} lines, more than {MAX_LINES}; find the seam')
            if lines <= MAX_LINES and file in LONG_FILES:
                self.problems.append(f'{file}: no longer long; take it out of LONG_FILES')
        for file in LONG_FILES:
            if file not in self.files:
                self.problems.append(f'{file}: is not there; take it out of LONG_FILES')

    def check_comments(self, file, text):
        for number, line in enumerate(text.split('\n'), 1):
            if len(line) > MAX_COMMENT_COLUMNS and COMMENT.match(line) and not line.startswith('#include'):
                self.problems.append(f'{file}:{number}: a comment of {len(line)} columns, more than {MAX_COMMENT_COLUMNS}')

    def check_readmes(self):
        for room, folders in FOLDERS.items():
            if not os.path.isdir(os.path.join(ROOT, room)):
                continue
            readme = room
            while not os.path.exists(os.path.join(ROOT, readme, 'README.md')) and '/' in readme:
                readme = os.path.dirname(readme)
            path = os.path.join(ROOT, readme, 'README.md')
            text = open(path, encoding='utf-8').read() if os.path.exists(path) else ''
            prefix = os.path.relpath(room, readme) + '/' if room != readme else ''
            for folder in folders:
                name = prefix + (folder + '/' if folder else '')
                if f'| `{name}` | ' not in text and not (name == '' and ('| (top) | ' in text or len(folders) == 1)):
                    self.problems.append(f'{readme}/README.md: no row that says what `{name}` is for')

    def check_python(self):
        """Modules of the Python package include no circle, imports inside of functions among them."""
        package = pathlib.Path(ROOT, 'python/ffkit')
        modules = {path.relative_to(package).with_suffix('').parts: ast.parse(path.read_text()) for path in package.rglob('*.py')}
        modules = {'.'.join(parts): (list(parts[:-1]), tree) for parts, tree in modules.items() if parts != ('__init__',)}
        edges = {}
        for name, (folder, tree) in modules.items():
            for_checkers = {id(node) for test in ast.walk(tree) if isinstance(test, ast.If) and 'TYPE_CHECKING' in ast.dump(test.test) for node in ast.walk(test)}
            own = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_checkers]
            named = set()
            for node in own:
                base = folder[:len(folder) - node.level + 1] + (node.module or '').split('.') * bool(node.module)
                named |= {'.'.join(base)} | {'.'.join(base + [alias.name]) for alias in node.names}
            edges[name] = sorted(named & set(modules))

        def visit(name, path):
            if name in path:
                self.problems.append(f'python/ffkit: imports in a circle: {" -> ".join(path[path.index(name):] + [name])}')
            elif name not in done:
                for other in edges[name]:
                    visit(other, path + [name])
                done.add(name)

        done = set()
        for name in sorted(edges):
            visit(name, [])

    def check_docstrings(self):
        """Docstrings wrap at the columns of comments, code in them too."""
        for path in sorted(pathlib.Path(ROOT).rglob('*.py')):
            name = str(path.relative_to(ROOT))
            if name.startswith(('build', '.deps', 'tests/', 'bench/', 'shared/')):
                continue
            if name not in WIDE_DOCSTRINGS:
                self.problems += [f'{name}:{line}: a docstring of more than {MAX_COMMENT_COLUMNS} columns' for line in wide_docstring_lines(path.read_text())]

    def print_arrows(self, as_table):
        if as_table:
            print('| folder | files | lines | includes, of its own room | of other rooms |\n| --- | --- | --- | --- | --- |')
        for room, folders in FOLDERS.items():
            for folder in folders:
                here = room, folder
                files = [f for f, o in self.owner.items() if o == here]
                lines = sum(self.texts[f].count('\n') for f in files)
                near = sorted(b[1] or '(top)' for a, b in self.edges if a == here and b[0] == room)
                far = sorted({name_of(b) for a, b in self.edges if a == here and b[0] != room})
                if as_table:
                    print(f'| `{name_of(here)}/` | {len(files)} | {lines:,} | {", ".join(near)} | {", ".join(far)} |')
                    continue
                to = near + far
                print(f'{name_of(here):34} {len(files):3} files {lines:6} lines, includes {", ".join(to) or "nothing"}')


def wide_docstring_lines(text):
    """The numbers of lines of docstrings that are too wide."""
    lines, wide = text.split('\n'), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            wide += [number + 1 for number in range(first.lineno - 1, first.end_lineno) if len(lines[number]) > MAX_COMMENT_COLUMNS]
    return sorted(wide)


def name_of(node):
    return node[0] + ('/' + node[1] if node[1] else '')


def main():
    house = House()
    if '--arrows' in sys.argv or '--table' in sys.argv:
        house.print_arrows('--table' in sys.argv)
        return 0
    house.check_arrows()
    house.check_sizes()
    house.check_readmes()
    house.check_python()
    assert wide_docstring_lines('"""' + 'a ' * 60 + '"""') == [1]  # it can fail
    house.check_docstrings()
    for problem in dict.fromkeys(house.problems):
        print(problem)
    return 1 if house.problems else 0


if __name__ == '__main__':
    sys.exit(main())
