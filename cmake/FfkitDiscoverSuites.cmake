# Run after a test binary is linked (see ffkit_add_unit_tests): writes a file for ctest with one
# test a suite of GoogleTest.
#   EXECUTABLE   the binary
#   PREFIX       of the tests' names
#   LONG         a regular expression: suites that take seconds, labelled short
#   EXHAUSTIVE   another one: suites that take minutes, labelled long; the others are labelled quick
#   OUTPUT       the file to write
#   ENVIRONMENT  variables of every test
execute_process(COMMAND ${EXECUTABLE} --gtest_list_tests OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${listing}")
set(text "")
foreach(line IN LISTS lines)
  # Suites start their line and end with a dot; cases are indented. A suite with parameters has "#
  # TypeParam = ..." behind it.
  if(NOT line MATCHES "^([A-Za-z0-9_/]+)\\.( |$)")
    continue()
  endif()
  set(suite ${CMAKE_MATCH_1})
  set(properties "SKIP_RETURN_CODE 77 FIXTURES_REQUIRED messages ENVIRONMENT [==[${ENVIRONMENT}]==]")
  if(EXHAUSTIVE AND suite MATCHES "${EXHAUSTIVE}")
    string(APPEND properties " LABELS long")
  elseif(LONG AND suite MATCHES "${LONG}")
    string(APPEND properties " LABELS short")
  else()
    string(APPEND properties " LABELS quick")
  endif()
  string(APPEND text "add_test([=[${PREFIX}${suite}]=] [==[${EXECUTABLE}]==] --gtest_filter=${suite}.*)\n"
    "set_tests_properties([=[${PREFIX}${suite}]=] PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
