#include "plan/listing.h"

#include "plan/plan_hash.h"

namespace ffkit {

Listing list_samples(const Source& source, size_t split, std::span<const int64_t> order) {
  PlanHash names;
  PlanHash sizes;
  PlanHash contents;
  PlanHash times;
  for (const int64_t sample : order) {
    const SampleIdentity identity = source.identity(split, sample);
    names.add(identity.name);
    sizes.add(static_cast<uint64_t>(identity.num_bytes));
    contents.add(identity.content);
    times.add(identity.modified);
  }
  return {.names = names.digits(),
          .sizes = sizes.digits(),
          .contents = contents.digits(),
          .times = times.digits(),
          .inputs = source.inputs(split)};
}

}  // namespace ffkit
