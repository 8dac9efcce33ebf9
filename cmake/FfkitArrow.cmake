# ffkit_arrow: Arrow and Parquet, C++. Where a CMake package is installed it is that one; else that
# of PyPI's pyarrow, which has headers and libraries: FFKIT_PYARROW names the package's folder, or
# it is the one of tools/setup --parquet.
find_package(Arrow CONFIG QUIET)
find_package(Parquet CONFIG QUIET)
add_library(ffkit_arrow INTERFACE)
if(TARGET Arrow::arrow_shared AND TARGET Parquet::parquet_shared)
  target_link_libraries(ffkit_arrow INTERFACE Parquet::parquet_shared Arrow::arrow_shared)
else()
  file(GLOB found ${PROJECT_SOURCE_DIR}/.deps/arrow/lib/python3*/site-packages/pyarrow)
  set(FFKIT_PYARROW "${found}" CACHE PATH "Folder of the Python package pyarrow")
  file(GLOB arrow ${FFKIT_PYARROW}/libarrow.so.*)
  file(GLOB parquet ${FFKIT_PYARROW}/libparquet.so.*)
  if(NOT arrow OR NOT parquet)
    message(FATAL_ERROR "FFKIT_PARQUET needs Arrow: run tools/setup --parquet, or name the folder of pyarrow with -DFFKIT_PYARROW=, or turn it off")
  endif()
  target_include_directories(ffkit_arrow SYSTEM INTERFACE ${FFKIT_PYARROW}/include)
  target_link_libraries(ffkit_arrow INTERFACE ${parquet} ${arrow})
endif()
