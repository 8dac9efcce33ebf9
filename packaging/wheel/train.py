"""The wheel ffkit-train: fftrain and ffgenerate in one program for each minor version of torch, the
part for GPUs beside it, and what finds the torch that is installed."""
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from libstdcxx import GCC, run

ROOT = Path(__file__).resolve().parent.parent.parent
# By minor version: torch as PyPI has it, and of CUDA what its headers want, and the compiler of
# kernels, in the versions that torch names. The minor versions of nvcc and of the headers are one.
# NCCL's header is a part of torch's interface.
TORCHES = {
    '2.11': ('torch==2.11.0', 'nvidia-nccl-cu13==2.28.9', 'nvidia-cuda-runtime==13.0.96', 'nvidia-cuda-nvcc==13.0.88', 'nvidia-nvvm==13.0.88', 'nvidia-cuda-crt==13.0.88',
             'nvidia-cuda-cccl==13.0.85'),
    '2.15': ('torch==2.15.0', 'nvidia-nccl-cu13==2.30.7', 'nvidia-cuda-runtime==13.2.86', 'nvidia-cuda-nvcc==13.2.86', 'nvidia-nvvm==13.2.86', 'nvidia-cuda-crt==13.2.86',
             'nvidia-cuda-cccl==13.2.86'),
}
CUDA = '13'  # of all of them
# What torch's wheel brings, and what it has of the system itself.
LIBRARIES = {'libtorch_cpu.so', 'libc10.so', 'libtorch_cuda.so', 'libc10_cuda.so', 'libstdc++.so.6', 'libgcc_s.so.1'}
PROGRAMS = ('fftrain', 'ffgenerate')


def version_of_ffkit():
    return re.search(r'FFKIT_VERSION "([0-9.]+)"', (ROOT / 'base/include/ffkit/base/version.h').read_text())[1]


def fetch_torch(minor, folder):
    """The folder of a minor version's packages, which are not installed: torch's own parts for
    Python need more than this."""
    wanted = ' '.join(TORCHES[minor])
    mark = folder / 'fetched'
    if not mark.exists() or mark.read_text() != wanted:
        print(f'torch {minor}: half a gigabyte and more is fetched (once)', flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--target', folder, *TORCHES[minor])
        mark.write_text(wanted)
    return folder


def compile_for(minor, toolchain, packages, work):
    """The program and the part for GPUs."""
    print(f'torch {minor}: the program and the part for GPUs are compiled', flush=True)
    prefix, cuda = toolchain.prefix, packages / f'nvidia/cu{CUDA}'
    defines = {'CMAKE_BUILD_TYPE': 'Release', 'CMAKE_TOOLCHAIN_FILE': toolchain.file, 'CMAKE_SKIP_RPATH': 'ON', 'FFKIT_ALL_STATIC': 'ON', 'FFKIT_TESTS': 'OFF',
               'FFKIT_BENCHMARKS': 'OFF', 'CURL_INCLUDE_DIR': prefix / 'include', 'CURL_LIBRARY': 'opened-at-run-time', 'FFKIT_TORCH_ROOT': packages / 'torch',
               'FFKIT_CUDA_KERNELS': 'ON', 'FFKIT_NVCC': cuda / 'bin/nvcc', 'FFKIT_NVCC_HOST': f'g++-{GCC}', 'FFKIT_CUDA_INCLUDE_DIR': cuda / 'include',
               'FFKIT_NCCL_INCLUDE_DIR': packages / 'nvidia/nccl/include'}
    environment = toolchain.environment() | {'PKG_CONFIG_LIBDIR': f'{prefix}/lib/pkgconfig:{prefix}/share/pkgconfig'}
    for name in ('CC', 'CXX', 'AR', 'RANLIB', 'CFLAGS'):
        del environment[name]
    build = work / f'ffkit-{minor}'
    run('cmake', '-G', 'Ninja', '-S', ROOT, '-B', build, *(f'-D{name}={value}' for name, value in defines.items()), env=environment)
    run('cmake', '--build', build, '--target', 'ffkit_train_programs', 'ffkit_trainer_cuda', env=environment)
    return build / 'tools/ffkit-train-programs', build / 'trainer/libffkit_trainer_cuda.so'


def metadata(minors):
    """Of the distribution: pip takes a torch that one of the programs is for."""
    numbers = sorted(tuple(map(int, minor.split('.'))) for minor in minors)
    (major, first), (_, last) = numbers[0], numbers[-1]
    holes = [f'!={major}.{minor}.*' for minor in range(first, last) if (major, minor) not in numbers]
    torch = ','.join([f'>={major}.{first}', f'<{major}.{last + 1}', *holes])
    return f'''Metadata-Version: 2.4
Name: ffkit-train
Version: {version_of_ffkit()}
Summary: fftrain and ffgenerate of ffkit, for the torch that is installed
License-Expression: MIT
License-File: LICENSE
Requires-Python: >=3.10
Requires-Dist: torch{torch}
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Description-Content-Type: text/markdown

The programs for training of ffkit, compiled for torch {', '.join(minors)}. `pip install ffkit[train]` installs them with ffkit.
'''


def write_wheel(parts, folder):
    """The wheel as it is before auditwheel. `parts`: program and GPU part of each minor version."""
    name = f'ffkit_train-{version_of_ffkit()}'
    facts = f'{name}.dist-info'
    scripts = ''.join(f'{program} = ffkit_train:{program}\n' for program in PROGRAMS)
    files = {f'ffkit_train/{file.name}': file for file in (ROOT / 'packaging/train/ffkit_train').glob('*.py')}
    for minor, (program, cuda_module) in parts.items():
        files[f'ffkit_train/torch-{minor}/{program.name}'] = program
        files[f'ffkit_train/torch-{minor}/cuda-{CUDA}/{cuda_module.name}'] = cuda_module
    files[f'{facts}/licenses/LICENSE'] = ROOT / 'LICENSE'
    texts = {'METADATA': metadata(list(parts)), 'WHEEL': 'Wheel-Version: 1.0\nGenerator: tools/wheel\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n',
             'entry_points.txt': f'[console_scripts]\n{scripts}'}
    # Sizes and hashes are auditwheel's to write; it looks at the names.
    texts['RECORD'] = ''.join(f'{file},,\n' for file in [*files, *(f'{facts}/{text}' for text in texts), f'{facts}/RECORD'])
    path = folder / f'{name}-py3-none-linux_x86_64.whl'
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as archive:
        for file, source in files.items():
            archive.write(source, file)
        for text, content in texts.items():
            archive.writestr(f'{facts}/{text}', content)
    return path


def offered(packages):
    """The names that the libraries of torch, and of CUDA which torch opens, have for others."""
    files = [*packages.glob('torch/lib/lib*.so'), *packages.glob(f'nvidia/cu{CUDA}/lib/libcudart.so.*')]
    lines = subprocess.run(['nm', '-D', '--defined-only', *files], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2].partition('@')[0] for line in lines if len(line.split()) == 3}


def is_stranger(symbol):
    """Whether a file of the wheel has no business to show this name. Inline functions and templates
    of torch's and of C++ are one in the process; of other libraries they are hidden."""
    return symbol not in ('ffkit_cuda_module', '_init', '_fini') and (not symbol.startswith('_Z') or re.search('5ffkit|3fmt|6spdlog|3tbb|2cv|8simdjson|3hwy|8nlohmann|3CLI', symbol) is not None)
