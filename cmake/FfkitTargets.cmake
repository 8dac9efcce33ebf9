# How every target of ffkit is made: one library a room, the same flags for all of them.

add_library(ffkit_flags INTERFACE)
target_compile_features(ffkit_flags INTERFACE cxx_std_20)
target_compile_options(ffkit_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  # GCC 12 warns of overlap in "text" + std::string (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${FFKIT_WERROR}>:-Werror>)
if(FFKIT_SANITIZE)
  target_compile_options(ffkit_flags INTERFACE -fsanitize=${FFKIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(ffkit_flags INTERFACE -fsanitize=${FFKIT_SANITIZE})
endif()
if(FFKIT_FUZZERS)
  # What UBSan finds ends the program: libFuzzer sees nothing else.
  target_compile_options(ffkit_flags INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
endif()

# ffkit_add_library(<room> SOURCES ... PUBLIC targets... PRIVATE targets...)
# Makes ffkit_<room>, aliased and exported as ffkit::<room>, with <room>/include as its public headers.
function(ffkit_add_library room)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(target ffkit_${room})
  add_library(${target} ${arg_SOURCES})
  add_library(ffkit::${room} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${room} POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${target}
    PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:ffkit_flags>)
endfunction()

# ffkit_add_executable(<name> SOURCES ... LINK targets...)
function(ffkit_add_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE ${arg_LINK} ffkit_flags)
endfunction()
