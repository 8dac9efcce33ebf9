# Finds libtorch and makes the target ffkit_torch (CPU libraries; no CUDA toolkit needed).
#
# Looked for in this order: CMAKE_PREFIX_PATH (a libtorch folder, or torch.utils.cmake_prefix_path),
# then the wheel that tools/setup puts into .deps/libtorch; for users of the installed package
# (ffkitConfig.cmake includes this file, too) the one that ffkit was built with. find_package(Torch)
# is not used: on a CUDA wheel it demands a CUDA toolkit and enables the language.
file(GLOB torch_hints ${PROJECT_SOURCE_DIR}/.deps/libtorch/lib/python3*/site-packages/torch)
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  list(APPEND torch_prefixes ${prefix} ${prefix}/../..)
endforeach()
find_path(FFKIT_TORCH_ROOT include/torch/csrc/api/include/torch/torch.h
  HINTS ${torch_prefixes} ${torch_hints} ${FFKIT_BUILT_WITH_TORCH} NO_DEFAULT_PATH
  DOC "Folder of libtorch: include/ and lib/libtorch_cpu.so")
if(NOT FFKIT_TORCH_ROOT AND CMAKE_FIND_PACKAGE_NAME)
  set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "libtorch was not found; give its folder: -DCMAKE_PREFIX_PATH=/path/to/libtorch")
  set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
  return()
elseif(NOT FFKIT_TORCH_ROOT)
  message(FATAL_ERROR "libtorch was not found. Run tools/setup, or give its folder: -DCMAKE_PREFIX_PATH=/path/to/libtorch, "
    "or build without the trainer: -DFFKIT_TRAINER=OFF")
endif()
file(REAL_PATH ${FFKIT_TORCH_ROOT} torch_root)
set(torch_version)
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${torch_root}/include/torch/headeronly/version.h line REGEX "define TORCH_VERSION_${part} ")
  string(REGEX MATCH "[0-9]+$" number "${line}")
  list(APPEND torch_version ${number})
endforeach()
list(JOIN torch_version "." FFKIT_TORCH_VERSION)
message(STATUS "libtorch ${FFKIT_TORCH_VERSION}: ${torch_root}")

add_library(ffkit_torch INTERFACE)
# libtorch's include folder brings headers of an fmt whose library it does not bring, and they would
# hide the system's.
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/system_fmt)
file(CREATE_LINK ${fmt_include}/fmt ${PROJECT_BINARY_DIR}/system_fmt/fmt SYMBOLIC)
target_include_directories(ffkit_torch SYSTEM INTERFACE
  ${PROJECT_BINARY_DIR}/system_fmt ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_compile_definitions(ffkit_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_link_libraries(ffkit_torch INTERFACE ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)
  # Names of constrained templates as GCC has them, by which libtorch is compiled:
  # TensorBase::const_data_ptr() of 2.11.
  target_compile_options(ffkit_torch INTERFACE -fclang-abi-compat=17)
endif()
# The libraries find the wheels' CUDA parts by an RPATH of their own: with new dtags an
# LD_LIBRARY_PATH to a toolkit would win over it.
target_link_options(ffkit_torch INTERFACE -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags)

# A unit with libtorch's headers takes up to 3 GB to compile: no more at once than the memory
# allows.
cmake_host_system_information(RESULT memory_mib QUERY AVAILABLE_PHYSICAL_MEMORY)
math(EXPR jobs "${memory_mib} / 3072")
if(jobs LESS 1)
  set(jobs 1)
endif()
set_property(GLOBAL APPEND PROPERTY JOB_POOLS ffkit_torch_pool=${jobs})
