"""The wheel's libraries, built from pinned sources: static ones in a prefix, with licences.

Debian's source packages: the upstream archive of one version, known by its SHA-256, with the newest
patches that Debian has for it."""
import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

SUITES = ('bookworm', 'forky')
# Package, suite, upstream version, SHA-256 of the upstream archive.
SOURCES = json.loads((Path(__file__).parent / 'sources.json').read_text())
# Compiled by a C++ compiler: what another C++ library needs anew.
CXX = {'onetbb', 'opencv', 'fmtlib', 'spdlog', 'simdjson', 'highway'}


def run(command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        print(done.stdout[-6000:], file=sys.stderr)
        sys.exit(f"tools/wheel: error: '{' '.join(map(str, command))}' failed")
    return done.stdout


def mirror():
    """Where this machine's apt has Debian from."""
    places = run(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']).split()
    found = next((place for place in places if place.rstrip('/').endswith('/debian')), None)
    if found is None:
        sys.exit('tools/wheel: error: apt knows no place of Debian here, whose source packages the wheel is built from; run it in a Debian 12, after apt-get update')
    return found


def fetch(folder):
    """The source packages, unpacked with Debian's patches in FOLDER/PACKAGE. Returns versions."""
    downloads = folder / 'downloads'
    (downloads / 'lists/partial').mkdir(parents=True, exist_ok=True)
    place = mirror()
    (downloads / 'sources.list').write_text(''.join(f'deb-src {place} {suite} main\n' for suite in SUITES))
    apt = ['apt-get', '-qq', '-o', f'Dir::Etc::sourcelist={downloads}/sources.list', '-o', 'Dir::Etc::sourceparts=-',
           '-o', f'Dir::State::lists={downloads}/lists', '-o', 'APT::Sandbox::User=root']
    missing = [source for source in SOURCES if not (folder / source['package'] / 'ffkit-version').exists()]
    if missing:
        run([*apt, 'update'])
    for source in missing:
        package, version = source['package'], source['version']
        run([*apt, 'source', '--download-only', f"{package}/{source['suite']}"], cwd=downloads)
        found = [path for path in downloads.glob(f'{package}_*.dsc') if upstream_version(path, package) == version]
        if not found:
            sys.exit(f"tools/wheel: error: {source['suite']} has another version of {package} than {version}; look at the change and pin it in packaging/wheel/sources.json")
        description = max(found, key=os.path.getmtime)
        archive = next(downloads / name for name in files_of(description) if '.orig.tar' in name and not name.endswith('.asc'))
        if hashlib.sha256(archive.read_bytes()).hexdigest() != source['sha256']:
            sys.exit(f'tools/wheel: error: {archive.name} is not the archive that is pinned in packaging/wheel/sources.json')
        target = folder / package
        shutil.rmtree(target, ignore_errors=True)
        run(['dpkg-source', '--no-check', '-x', description, target])
        (target / 'ffkit-version').write_text(description.stem.removeprefix(f'{package}_'))
    return {source['package']: (folder / source['package'] / 'ffkit-version').read_text() for source in SOURCES}


def upstream_version(description, package):
    return description.stem.removeprefix(f'{package}_').rsplit('-', 1)[0]


def files_of(description):
    lines = description.read_text().split('Checksums-Sha256:')[1].split('\nFiles:')[0].splitlines()
    return [line.split()[2] for line in lines if len(line.split()) == 3]


class Builder:
    """Builds the packages, unless the prefix has them from the same source and recipe."""

    def __init__(self, toolchain, sources, work):
        self.toolchain, self.sources, self.work = toolchain, sources, work
        self.prefix = toolchain.prefix

    def build_all(self, versions, base=None):
        """Libraries of C are taken from the prefix `base` where one is given."""
        for source in SOURCES:
            package = source['package']
            build = getattr(self, package.replace('-', '_').replace('.', '_'))
            mark = self.prefix / 'built' / package
            wanted = f'{versions[package]} {self.recipe(build)}'
            if base and package not in CXX:
                wanted = (base / 'built' / package).read_text()
                if not mark.exists() or mark.read_text() != wanted:
                    shutil.rmtree(self.prefix, ignore_errors=True)
                    shutil.copytree(base, self.prefix, symlinks=True)
                    for facts in self.prefix.glob('*/pkgconfig/*.pc'):
                        facts.write_text(facts.read_text().replace(str(base), str(self.prefix)))
                continue
            if mark.exists() and mark.read_text() == wanted:
                continue
            print(f'{package} {versions[package]}', flush=True)
            build(self.sources / package)
            licences = self.prefix / 'licences'
            licences.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.sources / package / 'debian/copyright', licences / f'{package}.txt')
            mark.parent.mkdir(exist_ok=True)
            mark.write_text(wanted)

    def recipe(self, build):
        """A hash of all that builds a package: its method, shared methods, and the tool chain."""
        methods = (build, self.cmake, self.copied, self.make, self.configure, self.headers)
        toolchain = Path(sys.modules[type(self.toolchain).__module__].__file__).read_text()
        return hashlib.sha256(''.join([toolchain, *map(inspect.getsource, methods)]).encode()).hexdigest()

    def cmake(self, source, *options):
        build = self.work / source.name
        shutil.rmtree(build, ignore_errors=True)
        settings = {'CMAKE_TOOLCHAIN_FILE': self.toolchain.file, 'CMAKE_BUILD_TYPE': 'Release', 'CMAKE_INSTALL_PREFIX': self.prefix,
                    'CMAKE_INSTALL_LIBDIR': 'lib', 'BUILD_SHARED_LIBS': 'OFF', 'BUILD_TESTING': 'OFF'}
        run(['cmake', '-G', 'Ninja', '-S', source, '-B', build, *[f'-D{name}={value}' for name, value in settings.items()], *[f'-D{option}' for option in options]])
        run(['cmake', '--build', build])
        run(['cmake', '--install', build])

    def copied(self, source):
        """A copy to build in."""
        build = self.work / source.name
        shutil.rmtree(build, ignore_errors=True)
        shutil.copytree(source, build, symlinks=True)
        return build

    def make(self, folder, *targets):
        run(['make', f'-j{os.cpu_count()}', *targets], cwd=folder, env=self.toolchain.environment())

    def configure(self, folder, *options):
        run(['./configure', f'--prefix={self.prefix}', *options], cwd=folder, env=self.toolchain.environment())

    def headers(self, source, name):
        shutil.copytree(source, self.prefix / 'include' / name, dirs_exist_ok=True)

    def zlib(self, source):
        build = self.copied(source)
        self.configure(build, '--static')
        self.make(build, 'install')

    def bzip2(self, source):
        build = self.copied(source)
        environment = self.toolchain.environment()
        run(['make', 'libbz2.a', f"CC={environment['CC']}", f"AR={environment['AR']}", f"RANLIB={environment['RANLIB']}",
             f"CFLAGS={environment['CFLAGS']} -D_FILE_OFFSET_BITS=64"], cwd=build, env=environment)
        shutil.copy(build / 'libbz2.a', self.prefix / 'lib')
        shutil.copy(build / 'bzlib.h', self.prefix / 'include')

    def xz_utils(self, source):
        build = self.copied(source)
        self.configure(build, f'--host={self.toolchain.machine}-linux-gnu', '--disable-shared', '--disable-nls', '--disable-doc', '--disable-scripts',
                       *[f'--disable-{name}' for name in ('xz', 'xzdec', 'lzmadec', 'lzmainfo', 'lzma-links')])
        self.make(build, 'install')

    def libzstd(self, source):
        self.cmake(source / 'build/cmake', 'ZSTD_BUILD_SHARED=OFF', 'ZSTD_BUILD_PROGRAMS=OFF', 'ZSTD_LEGACY_SUPPORT=OFF')

    def openssl(self, source):
        build = self.copied(source)
        system = {'x86_64': 'linux-x86_64', 'aarch64': 'linux-aarch64'}[self.toolchain.machine]
        run(['./Configure', system, f'--prefix={self.prefix}', '--libdir=lib', '--openssldir=/etc/ssl', 'no-shared', 'no-tests', 'no-engine', 'no-dso',
             'no-ssl', 'no-tls', 'no-dtls', 'no-legacy', 'no-cms', 'no-ts', 'no-srp', 'no-ct', 'no-ocsp', 'no-zlib', 'no-async'],
            cwd=build, env=self.toolchain.environment())
        self.make(build, 'build_libs')
        self.make(build, 'install_dev')

    def libarchive(self, source):
        self.cmake(source, *[f'ENABLE_{name}=OFF' for name in ('OPENSSL', 'NETTLE', 'LIBB2', 'LZ4', 'LZO', 'LIBXML2', 'EXPAT', 'PCREPOSIX', 'CNG', 'TAR', 'CPIO', 'CAT',
                                                               'XATTR', 'ACL', 'TEST', 'WERROR')])
        for shared in (self.prefix / 'lib').glob('libarchive.so*'):
            shared.unlink()

    def libjpeg_turbo(self, source):
        self.cmake(source, 'ENABLE_SHARED=OFF', 'WITH_TURBOJPEG=OFF', 'REQUIRE_SIMD=ON')
        shutil.copy(source / 'src/jpegint.h', self.prefix / 'include')  # for ffkit's Huffman decoder

    def libpng1_6(self, source):
        self.cmake(source, 'PNG_SHARED=OFF', 'PNG_TESTS=OFF')

    def libwebp(self, source):
        self.cmake(source, *[f'WEBP_BUILD_{name}=OFF' for name in ('ANIM_UTILS', 'CWEBP', 'DWEBP', 'GIF2WEBP', 'IMG2WEBP', 'VWEBP', 'WEBPINFO', 'WEBPMUX', 'EXTRAS')])

    def onetbb(self, source):
        self.cmake(source, 'TBB_TEST=OFF', 'TBB_STRICT=OFF', 'TBBMALLOC_BUILD=OFF', 'TBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON')

    def freetype(self, source):
        # With the prefix's zlib: FreeType's own copy has the same names.
        self.cmake(source, 'FT_REQUIRE_ZLIB=ON', *[f'FT_DISABLE_{name}=ON' for name in ('BZIP2', 'PNG', 'HARFBUZZ', 'BROTLI')])

    def opencv(self, source):
        off = ('IPP', 'TBB', 'OPENMP', 'LAPACK', 'EIGEN', 'ITT', 'OPENCL', 'CUDA', 'PROTOBUF', 'QUIRC', 'FFMPEG', 'GSTREAMER', 'GTK', 'V4L', 'JPEG', 'PNG', 'TIFF',
               'WEBP', 'OPENJPEG', 'JASPER', 'OPENEXR', '1394', 'ADE', 'VA', 'VA_INTEL', 'OPENCL_SVM', 'OPENCLAMDFFT', 'OPENCLAMDBLAS', 'CAROTENE')
        self.cmake(source, 'BUILD_LIST=core,imgproc', *[f'WITH_{name}=OFF' for name in off], 'OPENCV_GENERATE_PKGCONFIG=OFF', 'BUILD_ZLIB=OFF', 'BUILD_ITT=OFF',
                   'BUILD_PERF_TESTS=OFF', 'BUILD_TESTS=OFF', 'BUILD_opencv_apps=OFF', 'BUILD_JAVA=OFF', 'BUILD_opencv_python3=OFF', 'CV_TRACE=OFF',
                   'OPENCV_LIB_INSTALL_PATH=lib', 'OPENCV_INCLUDE_INSTALL_PATH=include')

    def fmtlib(self, source):
        self.cmake(source, 'FMT_TEST=OFF', 'FMT_DOC=OFF')

    def spdlog(self, source):
        self.cmake(source, 'SPDLOG_FMT_EXTERNAL=ON', 'SPDLOG_BUILD_EXAMPLE=OFF', f'fmt_DIR={self.prefix}/lib/cmake/fmt')

    def nlohmann_json3(self, source):
        self.cmake(source, 'JSON_BuildTests=OFF')

    def cli11(self, source):
        self.cmake(source, 'CLI11_BUILD_TESTS=OFF', 'CLI11_BUILD_EXAMPLES=OFF', 'CLI11_BUILD_DOCS=OFF', 'CLI11_SINGLE_FILE=OFF')

    def simdjson(self, source):
        self.cmake(source, 'SIMDJSON_DEVELOPER_MODE=OFF')

    def highway(self, source):
        self.cmake(source, 'HWY_ENABLE_TESTS=OFF', 'HWY_ENABLE_EXAMPLES=OFF', 'HWY_ENABLE_CONTRIB=OFF')

    def utf8proc(self, source):
        self.cmake(source, 'UTF8PROC_ENABLE_TESTING=OFF')

    def liburing(self, source):
        build = self.copied(source)
        self.configure(build, f"--cc={self.toolchain.bin / 'cc'}", f"--cxx={self.toolchain.bin / 'c++'}")
        self.make(build / 'src', 'ENABLE_SHARED=0')
        self.make(build, 'install', 'ENABLE_SHARED=0')

    def curl(self, source):
        self.headers(source / 'include/curl', 'curl')
