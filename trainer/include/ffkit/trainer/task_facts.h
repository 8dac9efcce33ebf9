// What a run and a checkpoint that it continues must agree on beside their options.
#pragma once

#include <map>
#include <string>

namespace ffkit {

// Names (TaskEntry::facts) and JSON: the classes of a data set, a vocabulary. A checkpoint holds
// each as a part of its metadata.
using TaskFacts = std::map<std::string, std::string>;

}  // namespace ffkit
