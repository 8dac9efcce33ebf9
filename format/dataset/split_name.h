// Names of splits, which become names of folders: what a source, a manifest or a file's name may
// call one.
#pragma once

#include <string>
#include <string_view>

namespace ffkit {

// Why `name` cannot be that of a split's folder in a data set, "begins with a dot"; empty when it
// can.
std::string fault_of_split_name(std::string_view name);

}  // namespace ffkit
