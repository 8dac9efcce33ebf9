# Libraries whose inside ffkit uses: what does not fit is left out or refused with a sentence, what
# fits is taken, others need nothing.
cmake_minimum_required(VERSION 3.22)
include(${SOURCE_DIR}/cmake/FfkitTested.cmake)

if(CALL)  # in a process of its own: a refusal ends it
  if(CALL STREQUAL jpeg)
    ffkit_check_jpeg_huffman(found ${WORK_DIR}/jconfig.h ${WORK_DIR}/${JPEGINT})
    message(STATUS "found: ${found}")
  else()
    ffkit_gloo_headers(folder ${WORK_DIR}/${TORCH} ${VERSION} /stand-ins)
    message(STATUS "folder: '${folder}'")
  endif()
  return()
endif()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR}/bare/include)
file(WRITE ${WORK_DIR}/full/include/gloo/context.h "")
file(WRITE ${WORK_DIR}/jpegint.h "")

# expect(<regular expression of what is printed> <arguments of the call>...): "-" in front of the
# expression when the call is refused.
function(expect pattern)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${SOURCE_DIR} -DWORK_DIR=${WORK_DIR} ${ARGN} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(REGEX REPLACE "^-" "" plain "${pattern}")
  if(NOT "${text}" MATCHES "${plain}")
    message(SEND_ERROR "${ARGN}: '${plain}' is not in '${text}'")
  endif()
  if(("${pattern}" MATCHES "^-" AND status EQUAL 0) OR (NOT "${pattern}" MATCHES "^-" AND NOT status EQUAL 0))
    message(SEND_ERROR "${ARGN}: status ${status}")
  endif()
endfunction()

foreach(version 2.1.2 2.1.5 3.0.4 3.1.3)
  file(WRITE ${WORK_DIR}/jconfig.h "#define JPEG_LIB_VERSION  62\n#define LIBJPEG_TURBO_VERSION  ${version}\n")
  expect("^-- found: ON" -DCALL=jpeg -DJPEGINT=jpegint.h)
endforeach()
expect("jpegint.h, which was not found: libjpeg does all the decoding.*found: OFF" -DCALL=jpeg -DJPEGINT=none.h)
file(WRITE ${WORK_DIR}/jconfig.h "#define LIBJPEG_TURBO_VERSION  1.5.3\n")
expect("this is 1[.]5[.]3 .*libjpeg does all the decoding.*found: OFF" -DCALL=jpeg -DJPEGINT=jpegint.h)
file(WRITE ${WORK_DIR}/jconfig.h "#define JPEG_LIB_VERSION 90\n")
expect("this is an unknown version.*found: OFF" -DCALL=jpeg -DJPEGINT=jpegint.h)

expect("folder: '/stand-ins'" -DCALL=gloo -DTORCH=bare -DVERSION=${FFKIT_TESTED_GLOO_HEADERS})
expect("folder: ''" -DCALL=gloo -DTORCH=full -DVERSION=${FFKIT_TESTED_GLOO_HEADERS})
expect("folder: ''" -DCALL=gloo -DTORCH=full -DVERSION=9.9.9)
expect("-libtorch 9[.]9[.]9 .*without gloo's headers.*FFKIT_TRAINER=OFF" -DCALL=gloo -DTORCH=bare -DVERSION=9.9.9)
