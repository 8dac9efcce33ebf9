// Files of prompts.
#pragma once

#include <string>
#include <vector>

namespace ffkit {

// A prompt on each line, which \n, \r\n or \r ends; an empty one begins a document. A byte order
// mark of UTF-8 is left out. Throws Error(not_found), and Error(invalid_argument) for a file
// without a line and for one that is no text of UTF-8.
std::vector<std::string> read_prompts(const std::string& path);

}  // namespace ffkit
