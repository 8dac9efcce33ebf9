# CUDA kernels are compiled by nvcc where it is found; no build needs it. CMake's own CUDA language
# is not used: it adds a CUDA runtime of its own, where that of libtorch's wheel is in the process
# already.
set(FFKIT_CUDA_KERNELS AUTO CACHE STRING "CUDA kernels of our own: AUTO (where nvcc is found and fits libtorch), ON or OFF")
set_property(CACHE FFKIT_CUDA_KERNELS PROPERTY STRINGS AUTO ON OFF)
set(FFKIT_NVCC_HOST ${CMAKE_CXX_COMPILER} CACHE STRING "The compiler that nvcc calls for what runs on the CPU")

# PTX of the oldest that libtorch for CUDA 13 runs on is for all others.
set(ffkit_cuda_targets -gencode=arch=compute_75,code=compute_75 -gencode=arch=compute_80,code=sm_80
  -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_100,code=sm_100)

# ffkit_find_nvcc(<variable> <folder of CUDA's headers>): the flags to call nvcc with, or nothing,
# and then a line that says why.
function(ffkit_find_nvcc variable cuda_include)
  set(${variable} "" PARENT_SCOPE)
  if(NOT FFKIT_CUDA_KERNELS)
    message(STATUS "CUDA kernels: switched off")
    return()
  endif()
  find_program(FFKIT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin DOC "NVIDIA's compiler; without it there are no CUDA kernels")
  # It is asked once for each nvcc, headers and host compiler.
  set(question "${FFKIT_NVCC};${cuda_include};${FFKIT_NVCC_HOST};${ffkit_cuda_targets}")
  if(NOT FFKIT_NVCC)
    set(FFKIT_NVCC_MISFIT "no nvcc was found" CACHE INTERNAL "")
  elseif(NOT "${FFKIT_NVCC_ASKED}" STREQUAL "${question}")
    ffkit_nvcc_misfit(misfit ${cuda_include})
    set(FFKIT_NVCC_MISFIT "${misfit}" CACHE INTERNAL "")
    set(FFKIT_NVCC_ASKED "${question}" CACHE INTERNAL "")
  endif()
  if(FFKIT_NVCC_MISFIT AND NOT FFKIT_CUDA_KERNELS STREQUAL AUTO)
    message(FATAL_ERROR "FFKIT_CUDA_KERNELS is ON, but ${FFKIT_NVCC_MISFIT}. Give a compiler with -DFFKIT_NVCC=/path/to/nvcc, or set -DFFKIT_CUDA_KERNELS=AUTO, which searches for a compiler")
  elseif(FFKIT_NVCC_MISFIT)
    message(STATUS "CUDA kernels: none, ${FFKIT_NVCC_MISFIT}; a GPU runs deformable attention by grid_sample()")
  else()
    message(STATUS "CUDA kernels: compiled by ${FFKIT_NVCC}")
    set(${variable} -ccbin ${FFKIT_NVCC_HOST} -std=c++20 ${ffkit_cuda_targets} PARENT_SCOPE)
  endif()
endfunction()

# Why the code of FFKIT_NVCC cannot be used, or nothing.
function(ffkit_nvcc_misfit variable cuda_include)
  execute_process(COMMAND ${FFKIT_NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" found "${text}")
  if(NOT found)
    set(${variable} "${FFKIT_NVCC} does not say its version" PARENT_SCOPE)
    return()
  endif()
  set(major ${CMAKE_MATCH_1})
  set(minor ${CMAKE_MATCH_2})
  # A runtime runs what was compiled by older compilers of its major version.
  file(STRINGS ${cuda_include}/cuda_runtime_api.h line REGEX "define CUDART_VERSION ")
  string(REGEX MATCH "[0-9]+" runtime "${line}")
  math(EXPR runtime_major "${runtime} / 1000")
  math(EXPR runtime_minor "${runtime} % 1000 / 10")
  if(NOT major EQUAL runtime_major OR minor GREATER runtime_minor)
    set(${variable} "nvcc ${major}.${minor} does not fit CUDA ${runtime_major}.${runtime_minor} of ${cuda_include}" PARENT_SCOPE)
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/nvcc_check)
  file(WRITE ${folder}/check.cu "#include <cuda_bf16.h>\n#include <cmath>\n__global__ void check(float* x) { *x = std::floor(*x); }\n")
  execute_process(COMMAND ${FFKIT_NVCC} -ccbin ${FFKIT_NVCC_HOST} -std=c++20 ${ffkit_cuda_targets} -c check.cu -o check.o
    WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_FILE ${folder}/log ERROR_FILE ${folder}/log)
  if(status EQUAL 0)
    set(${variable} "" PARENT_SCOPE)
  else()
    set(${variable} "${FFKIT_NVCC} cannot compile with ${FFKIT_NVCC_HOST} (${folder}/log)" PARENT_SCOPE)
  endif()
endfunction()

# ffkit_add_cuda_kernels(<target> <file.cu> FLAGS flags... INCLUDE folders...): compiles a file into
# the target. The symbols of the CUDA runtime are those of the library that libtorch_cuda.so brings.
function(ffkit_add_cuda_kernels target source)
  cmake_parse_arguments(arg "" "" "FLAGS;INCLUDE" ${ARGN})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.cu.o)
  list(TRANSFORM arg_INCLUDE PREPEND -I)
  set(warnings -Xcompiler=-Wall,-Wextra)
  if(FFKIT_WERROR)
    list(APPEND warnings -Werror=all-warnings)
  endif()
  add_custom_command(OUTPUT ${object}
    COMMAND ${FFKIT_NVCC} ${arg_FLAGS} -O3 ${warnings} -Xcompiler=-fPIC,-fvisibility=hidden ${arg_INCLUDE}
      -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} DEPFILE ${object}.d COMMENT "Building CUDA kernels ${source}" VERBATIM)
  target_sources(${target} PRIVATE ${object})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_compile_definitions(${target} PRIVATE FFKIT_CUDA_KERNELS)
endfunction()
