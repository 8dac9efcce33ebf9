"""A tool chain for an older glibc than this machine's: Zig's Clang, with Zig's headers and stubs of
that glibc, and LLVM's C++ library linked statically and hidden."""
import os
import shlex
import sys
from pathlib import Path

GLIBC = '2.28'
ZIG = 'ziglang==0.17.1'
# The oldest processor of each: faster loops are chosen when the program runs.
PROCESSORS = {'x86_64': 'x86_64', 'aarch64': 'generic'}


class Toolchain:
    def __init__(self, machine, folder):
        self.machine = machine
        self.target = f'{machine}-linux-gnu.{GLIBC}'
        self.cxx_library = {'name': 'libc++', 'version': ZIG.split('==')[1], 'purl': f"pkg:pypi/{ZIG.replace('==', '@')}"}
        self.bin = folder / 'bin'
        self.prefix = folder / 'prefix'
        self.bin.mkdir(parents=True, exist_ok=True)
        flags = ['-target', self.target, f'-mcpu={PROCESSORS[machine]}']
        for name, command in {'cc': ['cc', *flags], 'c++': ['c++', *flags], 'ar': ['ar'], 'ranlib': ['ranlib']}.items():
            self._write_tool(name, command)
        self.file = folder / 'toolchain.cmake'
        self.file.write_text(self._cmake())

    def _write_tool(self, name, command):
        text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ziglang {shlex.join(command)} "$@"\n'
        path = self.bin / name
        if not path.exists() or path.read_text() != text:  # ccache knows a compiler by its time
            path.write_text(text)
            path.chmod(0o755)

    def _cmake(self):
        return f'''set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {self.machine})
set(CMAKE_C_COMPILER {self.bin}/cc)
set(CMAKE_CXX_COMPILER {self.bin}/c++)
set(CMAKE_ASM_COMPILER {self.bin}/cc)
set(CMAKE_AR {self.bin}/ar)
set(CMAKE_RANLIB {self.bin}/ranlib)
set(CMAKE_FIND_ROOT_PATH {self.prefix})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_INIT "-fvisibility=hidden -ffunction-sections -fdata-sections")
set(CMAKE_CXX_FLAGS_INIT "-fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections -fdata-sections")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s -Wl,--gc-sections")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
'''

    def environment(self):
        """For programs that are configured by scripts."""
        return {**os.environ, 'CC': str(self.bin / 'cc'), 'CXX': str(self.bin / 'c++'), 'AR': str(self.bin / 'ar'), 'RANLIB': str(self.bin / 'ranlib'),
                'CFLAGS': '-O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections', 'PKG_CONFIG_LIBDIR': str(self.prefix / 'lib/pkgconfig')}
