// Lists of texts as JSON.
#pragma once

#include <string>

#include <ffkit/format/record.h>

namespace ffkit {

// The items of a list of strings as a JSON array. Throws Error(unsupported) for an item that is no
// UTF-8 text, which JSON cannot hold.
std::string json_array_of(const Field& field, const ListView& list);

}  // namespace ffkit
