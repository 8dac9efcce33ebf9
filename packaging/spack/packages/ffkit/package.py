# Spack package of the libraries and programs: packaging/README.md says how it is used.
from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass  # Spack before 1.0 has it in spack.package


class Ffkit(CMakePackage):
    """Record files and the fastest loader for vision training: the C++ libraries, ffconvert,
    ffinspect and ffeval. The Python package is made by pip, in the same environment."""

    homepage = "https://pypi.org/project/ffkit/"

    license("MIT")

    # No release has a checksum yet: `spack dev-build` takes the checkout.
    version("1.0.0")

    variant("opencv", default=True, description="Pictures by ffinspect, and OpenCV's pixels")
    variant("uring", default=True, description="Read files by io_uring")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("cli11@2:", type="build")
    depends_on("curl")
    depends_on("fmt@8.1:")
    depends_on("highway@1:")
    depends_on("intel-oneapi-tbb")
    depends_on("libarchive")
    depends_on("libjpeg-turbo@2.1:")
    depends_on("libpng")
    depends_on("libwebp+libwebpdemux")
    depends_on("nlohmann-json")
    depends_on("openssl")
    depends_on("simdjson@1:")
    depends_on("spdlog@1.9:")
    depends_on("utf8proc")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("liburing@2.1:", when="+uring")
    depends_on("freetype", when="+opencv")
    depends_on("opencv@4.5:4+imgproc", when="+opencv")

    conflicts("%gcc@:10", msg="ffkit needs C++20 of GCC 11 or newer")
    requires("platform=linux", msg="ffkit runs on Linux; ffkit-reader reads its data anywhere")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("FFKIT_OPENCV", "opencv"),
            self.define_from_variant("FFKIT_URING", "uring"),
            self.define("FFKIT_TRAINER", False),
            self.define("FFKIT_TESTS", False),
            self.define("FFKIT_BENCHMARKS", False),
        ]
