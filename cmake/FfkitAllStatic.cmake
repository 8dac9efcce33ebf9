# FFKIT_ALL_STATIC, for the wheel: all libraries are static ones, of one prefix
# (packaging/README.md). What shared libraries say themselves, which others they need, is said here.
# The linker leaves out the functions that nobody calls (--gc-sections).
set(FFKIT_LIBRARY_REMEDY "tools/wheel builds it; without -DFFKIT_ALL_STATIC=ON shared libraries are linked")
ffkit_require_library(FFKIT_LZMA liblzma.a)
ffkit_require_library(FFKIT_BZ2 libbz2.a)
set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${FFKIT_LZMA} ${FFKIT_BZ2} PkgConfig::libzstd ZLIB::ZLIB)
set_property(TARGET LibArchive::LibArchive APPEND PROPERTY INTERFACE_LINK_OPTIONS -Wl,--gc-sections)
if(FFKIT_OPENCV)
  set_target_properties(ffkit_opencv PROPERTIES
    INTERFACE_LINK_LIBRARIES "${FFKIT_OPENCV_IMGPROC};${FFKIT_OPENCV_CORE};ZLIB::ZLIB;Threads::Threads;${CMAKE_DL_LIBS}")
endif()
if(FFKIT_DRAWING)
  set_property(TARGET Freetype::Freetype APPEND PROPERTY INTERFACE_LINK_LIBRARIES ZLIB::ZLIB)
endif()
