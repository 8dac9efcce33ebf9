# How every target of ffkit is made: one library a room, the same flags for all of them.

# Other compilers have warnings of their own, which should not stop whoever builds with them.
if(FFKIT_WERROR STREQUAL "TRIED")
  set(FFKIT_WERROR OFF)
  if("${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 1[1-4]|Clang (14|15))\\.")
    set(FFKIT_WERROR ON)
  endif()
endif()

add_library(ffkit_flags INTERFACE)
target_compile_features(ffkit_flags INTERFACE cxx_std_20)
target_compile_options(ffkit_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  # A type with a member of an anonymous namespace's type is no matter in a file that nobody
  # includes; GCC takes a unity build's files for included.
  $<$<AND:$<BOOL:${FFKIT_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>
  # GCC 12 warns of overlap in "text" + std::string (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # GCC collects garbage from 128 MB on, which takes 7 % of its time; a unity file takes more than
  # that, and 2 GB at most, with libtorch 3.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1500000>
  $<$<BOOL:${FFKIT_WERROR}>:-Werror>)
if(FFKIT_SANITIZE)
  # Reports name lines by either, and -g takes half as long again. TSan's suppressions name
  # functions that are inlined, which -g1 leaves out.
  set(debug -g1)
  if(FFKIT_SANITIZE STREQUAL thread)
    set(debug -g)
  endif()
  target_compile_options(ffkit_flags INTERFACE -fsanitize=${FFKIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer ${debug})
  target_link_options(ffkit_flags INTERFACE -fsanitize=${FFKIT_SANITIZE})
endif()
if(FFKIT_FUZZERS)
  # What UBSan finds ends the program: libFuzzer sees nothing else.
  target_compile_options(ffkit_flags INTERFACE -fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
endif()

# Where tests and benchmarks find the rooms' private headers: "room/folder/file.h", and within a
# room "folder/file.h".
set(FFKIT_PRIVATE_HEADERS ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/base ${PROJECT_SOURCE_DIR}/format ${PROJECT_SOURCE_DIR}/storage ${PROJECT_SOURCE_DIR}/image ${PROJECT_SOURCE_DIR}/loader
  ${PROJECT_SOURCE_DIR}/converter ${PROJECT_SOURCE_DIR}/sources)

# ffkit_compile(<target> OPTIMISE <level> HOT files...): how its files are compiled. Three dozen of them
# at once (unity builds), for most of a file's seconds are its headers'; files of Highway's kernels,
# which include themselves once a processor, stay alone. In release builds a target gives a level of
# its own for what is not hot: -O3 takes twice as long as -O1. Kernels and HOT files keep -O3. Where
# FFKIT_COLD_OPTIMISE says so (-Og in tools/quickstart: a fifth less to compile), it stands for -O1.
function(ffkit_compile target)
  cmake_parse_arguments(arg "" "OPTIMISE" "HOT" ${ARGN})
  if(arg_OPTIMISE STREQUAL -O1 AND FFKIT_COLD_OPTIMISE)
    set(arg_OPTIMISE ${FFKIT_COLD_OPTIMISE})
  endif()
  if(arg_OPTIMISE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${arg_OPTIMISE}>)
  endif()
  if(FFKIT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 36)
  endif()
  set(optimised $<$<CONFIG:Release>:-O3>)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(EXISTS ${source})
      file(STRINGS ${source} kernels REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
      if(kernels)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS ${optimised})
        list(REMOVE_ITEM arg_HOT ${source})
      endif()
    endif()
  endforeach()
  if(arg_HOT)
    ffkit_unit(${target} hot FILES ${arg_HOT} OPTIONS ${optimised})
  endif()
endfunction()

# ffkit_unit(<target> <name> FILES files... OPTIONS options...): files of the target that are compiled
# at once and with options of their own, which the files of CMake's unity builds cannot have.
function(ffkit_unit target name)
  cmake_parse_arguments(arg "" "" "FILES;OPTIONS" ${ARGN})
  if(FFKIT_UNITY)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/Unity/unity_${target}_${name}.cpp)
    list(TRANSFORM arg_FILES REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
    list(JOIN lines "" lines)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${lines}" @ONLY)
    target_sources(${target} PRIVATE ${unit})
    set_source_files_properties(${arg_FILES} PROPERTIES HEADER_FILE_ONLY ON)
    set_source_files_properties(${unit} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set(arg_FILES ${unit})
  endif()
  set_source_files_properties(${arg_FILES} PROPERTIES COMPILE_OPTIONS "${arg_OPTIONS}")
endfunction()

# ffkit_torch_units(<target>): its files that include torch/nn or the like, which takes 25 s to read,
# are one unit, those that include tensors alone another.
function(ffkit_torch_units target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folders ${target} INCLUDE_DIRECTORIES)
  foreach(source IN LISTS sources)
    get_source_file_property(own ${source} COMPILE_OPTIONS)
    if(NOT own)
      ffkit_includes(whole ${source} "<torch/|<ATen/autocast_mode" ${folders})
      ffkit_includes(tensors ${source} "<(ATen|c10)/" ${folders})
      if(whole)
        list(APPEND whole_files ${source})
      elseif(tensors)
        list(APPEND tensor_files ${source})
      endif()
    endif()
  endforeach()
  ffkit_unit(${target} torch FILES ${whole_files})
  # An operator's header alone, where it is used, in place of those of all operators.
  ffkit_unit(${target} tensors FILES ${tensor_files} OPTIONS -DAT_PER_OPERATOR_HEADERS)
endfunction()

# ffkit_includes(<variable> <file> <regex> <folder>...): whether a file has an #include that the
# regex matches, or one of our headers that it finds in the folders.
function(ffkit_includes variable file regex)
  file(REAL_PATH ${file} file)
  string(MD5 key "FFKIT_INCLUDES ${file} ${regex}")
  get_property(found GLOBAL PROPERTY ${key})
  if("${found}" STREQUAL "")
    set_property(GLOBAL PROPERTY ${key} OFF)  # for files that include each other
    set(found OFF)
    get_filename_component(own ${file} DIRECTORY)
    file(STRINGS ${file} lines REGEX "^#include")
    foreach(line IN LISTS lines)
      if(line MATCHES "${regex}")
        set(found ON)
      elseif(line MATCHES "<(ffkit/([a-z_]+)/.*)>|\"(.*)\"")
        unset(header)
        find_file(header ${CMAKE_MATCH_1}${CMAKE_MATCH_3} PATHS ${own} ${ARGN} ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_2}/include NO_CACHE NO_DEFAULT_PATH)
        if(header)
          ffkit_includes(found ${header} "${regex}" ${ARGN})
        endif()
      endif()
      if(found)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY ${key} ${found})
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# ffkit_add_library(<room> SOURCES ... PUBLIC targets... PRIVATE targets... OPTIMISE <level> HOT files...)
# Makes ffkit_<room>, aliased and exported as ffkit::<room>, with <room>/include as its public
# headers.
function(ffkit_add_library room)
  cmake_parse_arguments(arg "" "OPTIMISE" "SOURCES;PUBLIC;PRIVATE;HOT" ${ARGN})
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
  ffkit_compile(${target} OPTIMISE ${arg_OPTIMISE} HOT ${arg_HOT})
endfunction()

# ffkit_add_executable(<name> SOURCES ... LINK targets... OPTIMISE <level>): -O1 unless said
# otherwise, for what is hot stands in the libraries.
function(ffkit_add_executable name)
  cmake_parse_arguments(arg "" "OPTIMISE" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE ${arg_LINK} ffkit_flags)
  if(NOT arg_OPTIMISE)
    set(arg_OPTIMISE -O1)
  endif()
  ffkit_compile(${name} OPTIMISE ${arg_OPTIMISE})
endfunction()
