// What a folder that is no data set looks like: by the names of its files, which command of
// ffconvert makes a data set of it.
#pragma once

#include <filesystem>
#include <string>

namespace ffkit {

// "it looks like folders of pictures, of which 'ffconvert folder my-pictures DST' makes a data
// set"; empty where nothing is known. Looks at the first names of at most three levels, and opens
// no file.
std::string words_on_source(const std::filesystem::path& path);

}  // namespace ffkit
