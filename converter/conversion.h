// One conversion to a destination that is claimed: plan, shards, manifests, report.
#pragma once

#include <filesystem>

#include <ffkit/converter/convert.h>

#include "output/destination.h"

namespace ffkit {

// Whether `folder` is an address, and not that of a disk (file://).
bool is_in_store(const std::filesystem::path& folder);

// Makes what `source` and `options` say in `claimed`, and commits it. `place`: where that is, as
// messages name it. Throws Error that says how to go on, and leaves to `claimed` what stays. Where
// claimed.is_finished(), only looks at what is there.
ConvertSummary make_data_set(const Source& source, Destination& claimed,
                             const std::filesystem::path& place, const ConvertOptions& options);

// Adds what is the same for a conversion that was finished before.
void add_facts(ConvertSummary& summary, const Source& source,
               const std::filesystem::path& destination, const ConvertPart& part);

}  // namespace ffkit
