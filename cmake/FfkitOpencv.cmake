# Makes the target ffkit_opencv of OpenCV's core and imgproc. Looked for by hand: Debian's packages
# of the two alone have no CMake file, and the package that has it (libopencv-dev) comes with GDAL
# and 200 others. Users of the installed package get this file too.
find_path(FFKIT_OPENCV_INCLUDE opencv2/core.hpp PATH_SUFFIXES opencv4 DOC "Folder that holds opencv2/core.hpp")
find_library(FFKIT_OPENCV_CORE opencv_core)
find_library(FFKIT_OPENCV_IMGPROC opencv_imgproc)
if(NOT FFKIT_OPENCV_INCLUDE OR NOT FFKIT_OPENCV_CORE OR NOT FFKIT_OPENCV_IMGPROC)
  message(FATAL_ERROR "OpenCV's core and imgproc were not found. Run tools/setup (Debian: libopencv-core-dev libopencv-imgproc-dev), "
    "or build without: -DFFKIT_OPENCV=OFF")
endif()
if(NOT TARGET ffkit_opencv)
  add_library(ffkit_opencv INTERFACE IMPORTED GLOBAL)
  add_library(ffkit::opencv ALIAS ffkit_opencv)
  target_include_directories(ffkit_opencv SYSTEM INTERFACE ${FFKIT_OPENCV_INCLUDE})
  # OpenCV's libraries bring a dozen others; a program that needs no pixels (ffeval) does not load
  # them.
  target_link_libraries(ffkit_opencv INTERFACE -Wl,--push-state,--as-needed ${FFKIT_OPENCV_IMGPROC} ${FFKIT_OPENCV_CORE} -Wl,--pop-state)
endif()
