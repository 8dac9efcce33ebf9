# Run by ctest; see CMakeLists.txt.
file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/elsewhere)
foreach(part include lib share)
  file(CREATE_LINK ${TORCH_ROOT}/${part} ${WORK_DIR}/elsewhere/${part} SYMBOLIC)
endforeach()
foreach(prefix elsewhere elsewhere/share/cmake)
  string(MAKE_C_IDENTIFIER ${prefix} build)
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE_DIR} -B ${WORK_DIR}/${build}
      -DCMAKE_PREFIX_PATH=${WORK_DIR}/${prefix} -DFFKIT_TESTS=OFF -DFFKIT_BENCHMARKS=OFF
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  file(READ ${WORK_DIR}/${build}/CMakeCache.txt cache)
  if(NOT status EQUAL 0 OR NOT cache MATCHES "FFKIT_TORCH_ROOT:PATH=${WORK_DIR}/elsewhere")
    message(FATAL_ERROR "CMAKE_PREFIX_PATH=${WORK_DIR}/${prefix} was not taken:\n${output}")
  endif()
endforeach()
