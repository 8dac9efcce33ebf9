# cpack -G DEB: a package of Debian with the programs, libraries and headers of this build, for the
# Debian that builds it.
#
# Without the trainer and the module for parquet: their libraries, libtorch and Arrow's, are in no
# package of Debian.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ffkit)
set(CPACK_PACKAGE_VENDOR "The ffkit authors")
set(CPACK_PACKAGE_CONTACT "The ffkit authors <ffkit@localhost>")  # Debian wants an address, and there is none
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "ffconvert packs image and driving data sets into large indexed record files,
ffinspect looks into them, and ffeval computes the metrics of predictions. The
loader is a library of C++: find_package(ffkit) finds it.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4, ca-certificates")  # looked for when a data set is in a store
# What find_package(ffkit) looks for, in addition to a compiler.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, libarchive-dev, libfmt-dev, libhwy-dev, libjpeg-dev, libopencv-dev, libpng-dev, libsimdjson-dev, libspdlog-dev, libssl-dev, \
libtbb-dev, liburing-dev, libutf8proc-dev, libwebp-dev, libzstd-dev, nlohmann-json3-dev, pkg-config")
include(CPack)
