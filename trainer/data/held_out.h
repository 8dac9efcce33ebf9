// Records that are validated instead of trained on, where a data set has no split for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>

namespace ffkit {

// The column "id" of texts; nothing where there is none.
std::optional<std::vector<std::string>> record_ids(const Dataset& dataset);

// Whether the record of this id is held out. It depends on the id and the share alone: records that
// are added later change nothing for those that were there, and a larger share holds out all that a
// smaller one does. 0 < share < 1.
bool is_held_out(std::string_view id, double share);

// The records of `split` that are held out, or all others, in its order, by their column "id".
// Throws Error(invalid_argument) when there is no such column, and when none would be left on one
// side.
Dataset held_out(const Dataset& split, double share);
Dataset without_held_out(const Dataset& split, double share);

}  // namespace ffkit
