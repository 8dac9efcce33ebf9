# FFKIT_SELF_CONTAINED, for what tools/gpu-check carries to another machine: what would bring dozens
# of shared libraries is linked from Debian's static ones. OpenCV's core and imgproc need LAPACK,
# Fortran's runtime, OpenGL and X11, and libarchive needs libxml2 and ICU (31 MB): none of them for
# what ffkit calls. The linker leaves out the functions that nobody calls (--gc-sections), and with
# them what only those need.
set(FFKIT_LIBRARY_REMEDY "Run tools/setup --no-torch, or build with -DFFKIT_SELF_CONTAINED=OFF")
ffkit_require_library(FFKIT_STATIC_LIBARCHIVE libarchive.a)
# Of tar, gzip, bzip2, xz and zip; their -dev packages are not needed.
ffkit_require_library(FFKIT_LZMA liblzma.so.5 lzma)
ffkit_require_library(FFKIT_BZ2 libbz2.so.1.0 bz2)
ffkit_require_library(FFKIT_NETTLE libnettle.so.8 nettle)
set_target_properties(LibArchive::LibArchive PROPERTIES IMPORTED_LOCATION ${FFKIT_STATIC_LIBARCHIVE})
set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_LIBRARIES
  ${FFKIT_LZMA} ${FFKIT_BZ2} ${FFKIT_NETTLE} PkgConfig::libzstd ZLIB::ZLIB)
set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_OPTIONS -Wl,--gc-sections)

if(FFKIT_OPENCV)
  ffkit_require_library(FFKIT_STATIC_OPENCV_IMGPROC libopencv_imgproc.a)
  ffkit_require_library(FFKIT_STATIC_OPENCV_CORE libopencv_core.a)
  # OpenCV asks GLX for functions of OpenGL when it is told to use OpenGL, which ffkit never does.
  # warpAffine() keeps OpenCV's solvers, whose LAPACK is for large matrices: ffkit has none, so
  # nobody calls these.
  set(lapack cblas_cgemm cblas_dgemm cblas_sgemm cblas_zgemm dgels_ dgeqrf_ dgesdd_ dgesv_ dgetrf_ dposv_ dpotrf_ sgels_ sgeqrf_
    sgesdd_ sgesv_ sgetrf_ sposv_ spotrf_)
  list(TRANSFORM lapack REPLACE "(.+)" "-Wl,--defsym=\\1=0")
  set_target_properties(ffkit_opencv PROPERTIES
    INTERFACE_LINK_LIBRARIES "${FFKIT_STATIC_OPENCV_IMGPROC};${FFKIT_STATIC_OPENCV_CORE};TBB::tbb;ZLIB::ZLIB;Threads::Threads;${CMAKE_DL_LIBS}"
    INTERFACE_LINK_OPTIONS "-Wl,--gc-sections;-Wl,--defsym=glXGetProcAddressARB=0;${lapack}")
endif()

# Tables of Unicode, 0.3 MB.
ffkit_require_library(FFKIT_STATIC_UTF8PROC libutf8proc.a)
set_target_properties(PkgConfig::libutf8proc PROPERTIES INTERFACE_LINK_LIBRARIES ${FFKIT_STATIC_UTF8PROC})
