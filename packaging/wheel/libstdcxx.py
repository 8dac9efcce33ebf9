"""A tool chain that meets libtorch: Zig's Clang for an old glibc, as toolchain.py has it, with
GCC's C++ library, of which libtorch and the program share the system's.

An old system's libstdc++.so.6 lacks what newer headers call. That comes from libstdc++.a and is
hidden in the program, as GCC's toolsets for old systems do it:

    libstdc++.so.6         this machine's, only for the linker: it hides names that are too new
    libstdc++_newer.o      members of libstdc++.a with these names; the rest is local or dropped"""
import re
import struct
import subprocess
import sys
from pathlib import Path

from toolchain import Toolchain

GCC = 12
# What manylinux_2_28 allows.
NEWEST = {'GLIBCXX': (3, 4, 24), 'CXXABI': (1, 3, 11)}
# Of libstdc++.a. None with state that a second copy would split, such as the ids of locales. A
# program that calls more does not link: the name is missing.
MEMBERS = ('condition_variable', 'cow-stdexcept', 'eh_ptr', 'floating_from_chars', 'floating_to_chars', 'fs_dir', 'fs_ops', 'fs_path', 'functexcept', 'futex', 'lt5-sstream-inst',
           'memory_resource', 'snprintf_lite', 'sstream-inst', 'string-inst')
# The members were compiled for a newer glibc, too.
GLUE = '__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;\n'


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"tools/wheel: error: '{' '.join(words)}' failed:\n{done.stdout[-6000:]}")
    return done.stdout


def file_of_gcc(name):
    path = Path(run(f'g++-{GCC}', f'-print-file-name={name}').strip())
    if not path.is_absolute():
        sys.exit(f"tools/wheel: error: g++-{GCC} has no {name}; install Debian's package libstdc++-{GCC}-dev")
    return path.resolve()


def is_newer(version):
    found = re.fullmatch(r'(GLIBCXX|CXXABI)_([0-9.]+)', version)
    return found is not None and tuple(map(int, found[2].split('.'))) > NEWEST[found[1]]


def write_old_library(source, target):
    """A copy of the library `source`, in which newer names are no defaults. Returns these."""
    from elftools.elf.elffile import ELFFile
    data = bytearray(source.read_bytes())
    newer = set()
    with open(source, 'rb') as file:
        elf = ELFFile(file)
        names = {version['vd_ndx']: next(iter(parts)).name for version, parts in elf.get_section_by_name('.gnu.version_d').iter_versions()}
        start = elf.get_section_by_name('.gnu.version')['sh_offset']
        for i, symbol in enumerate(elf.get_section_by_name('.dynsym').iter_symbols()):
            index, = struct.unpack_from('<H', data, start + 2 * i)
            if symbol['st_shndx'] != 'SHN_UNDEF' and is_newer(names.get(index & 0x7fff, '')):
                struct.pack_into('<H', data, start + 2 * i, index | 0x8000)
                newer.add(symbol.name)
    target.write_bytes(data)
    return newer


def hide_symbols(path):
    """What the object shows becomes hidden: it is for the program that it is linked into alone."""
    from elftools.elf.elffile import ELFFile
    data = bytearray(path.read_bytes())
    with open(path, 'rb') as file:
        table = ELFFile(file).get_section_by_name('.symtab')
        for i, symbol in enumerate(table.iter_symbols()):
            if symbol['st_info']['bind'] != 'STB_LOCAL' and symbol['st_shndx'] != 'SHN_UNDEF':
                data[table['sh_offset'] + i * table['sh_entsize'] + 5] |= 2  # st_other: STV_HIDDEN
    path.write_bytes(data)


class LibstdcxxToolchain(Toolchain):
    """Its prefix begins as a copy of another's, whose libraries of C are as good here."""

    def __init__(self, machine, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.library = folder / 'libstdc++.so.6'
        self.newer = folder / 'libstdc++_newer.o'
        super().__init__(machine, folder)
        version = run('dpkg-query', '--show', '--showformat', '${Version}', f'libstdc++-{GCC}-dev')
        self.cxx_library = {'name': 'libstdc++', 'version': version, 'purl': f'pkg:deb/debian/gcc-{GCC}@{version}?arch=source'}
        self.cxx_licence = Path(f'/usr/share/doc/libstdc++-{GCC}-dev/copyright')
        self._write_libraries(folder)

    def _write_tool(self, name, command):
        headers = Path(__file__).parent / 'libstdcxx'
        system = Path('/usr/include')
        cxx = ['-nostdinc++', *(f'-I{path}' for path in (headers, system / f'{self.machine}-linux-gnu/c++/{GCC}', system / f'c++/{GCC}'))]
        super()._write_tool(name, command + (cxx if name == 'c++' else []))

    def _cmake(self):
        # Zig takes its own C++ library unless it is told not to. The system's libraries want names
        # of the system's glibc.
        libraries = f'-nostdlib++ -Wl,--allow-shlib-undefined {self.newer} {self.library} {file_of_gcc("libgcc_s.so.1")}'
        text = super()._cmake() + ''.join(f'set(CMAKE_{kind}_LINKER_FLAGS_INIT "-s -Wl,--gc-sections {libraries}")\n' for kind in ('SHARED', 'MODULE'))
        return text + f'set(CMAKE_EXE_LINKER_FLAGS_INIT "-pie -s -Wl,--gc-sections {libraries}")\n'

    def _write_libraries(self, folder):
        source, archive = file_of_gcc('libstdc++.so'), file_of_gcc('libstdc++.a')
        wanted = f'{source.stat().st_mtime_ns} {archive.stat().st_mtime_ns} {Path(__file__).read_text()}'
        mark = folder / 'libstdcxx'
        if mark.exists() and mark.read_text() == wanted:
            return
        work = folder / 'libstdcxx-members'
        work.mkdir(exist_ok=True)
        (work / 'newer').write_text('\n'.join(sorted(write_old_library(source, self.library))))
        (work / 'glue.c').write_text(GLUE)
        members = [f'{name}.o' for name in MEMBERS]
        run(self.bin / 'cc', '-O2', '-c', 'glue.c', '-o', 'glue.o', cwd=work)
        run('ar', 'x', archive, *members, cwd=work)
        # Groups are settled among the members: the linker could drop a group here for one of the
        # program's, and local names with it.
        run('ld', '-r', '--force-group-allocation', '-o', self.newer, 'glue.o', *members, cwd=work)
        run('objcopy', '--keep-global-symbols=newer', self.newer, cwd=work)
        hide_symbols(self.newer)
        mark.write_text(wanted)
