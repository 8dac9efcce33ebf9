#include "plan/listing.h"

#include <fmt/format.h>

#include "plan/plan_hash.h"

namespace ffkit {

SampleListing list_samples(const Source& source, size_t split, std::span<const int64_t> order) {
  PlanHash names;
  PlanHash sizes;
  PlanHash contents;
  PlanHash times;
  uint64_t sum = 0;
  bool has_sizes = false;
  for (const int64_t sample : order) {
    const SampleIdentity identity = source.identity(split, sample);
    names.add(identity.name);
    sizes.add(static_cast<uint64_t>(identity.num_bytes));
    contents.add(identity.content);
    times.add(identity.modified);
    PlanHash one;
    one.add(identity.name);
    one.add(static_cast<uint64_t>(identity.num_bytes));
    one.add(identity.content);
    sum += one.value();
    has_sizes = has_sizes || identity.num_bytes > 0;
  }
  return {.names = names.digits(),
          .sizes = sizes.digits(),
          .contents = contents.digits(),
          .times = times.digits(),
          .samples = has_sizes ? fmt::format("{} {:016x}", order.size(), sum) : "",
          .inputs = source.inputs(split)};
}

}  // namespace ffkit
