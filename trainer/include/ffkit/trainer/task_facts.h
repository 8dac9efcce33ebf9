// TaskFacts: what a run and the checkpoint that it continues must agree on beside their options.
#pragma once

#include <map>
#include <string>

namespace ffkit {

// Names (TaskEntry::facts) and JSON, such as the classes of a data set or a vocabulary. A
// checkpoint has each in its metadata.
using TaskFacts = std::map<std::string, std::string>;

}  // namespace ffkit
