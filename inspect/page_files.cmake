# Writes the files of page/ into OUT, a C++ source, as serve/site.h says: cmake -DFOLDER=...
# -DOUT=... -P page_files.cmake
file(GLOB files ${FOLDER}/*)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} content HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" content "${content}")
  # A literal of 65,536 characters is what every compiler takes; these are glued.
  string(REGEX REPLACE "(................................................................)" "\\1\"\n    \"" content "${content}")
  string(APPEND entries "    {\"${name}\", \"${content}\"sv},\n")
endforeach()
set(text "#include \"serve/site.h\"

namespace ffkit::serve {

using namespace std::string_view_literals;

std::span<const PageFile> page_files() {
  static constexpr PageFile files[] = {
${entries}  };
  return files;
}

}  // namespace ffkit::serve
")
# What has not changed is not compiled again.
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
