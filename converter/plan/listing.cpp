#include "plan/listing.h"

#include <fmt/format.h>

#include <charconv>

namespace ffkit {

namespace {

struct SampleSum {
  int64_t num_samples = 0;
  uint64_t sum = 0;
};

SampleSum parse_samples(std::string_view text) {
  SampleSum samples;
  const char* const end = text.data() + text.size();
  const auto [space, error] = std::from_chars(text.data(), end, samples.num_samples);
  if (error == std::errc() && space != end) std::from_chars(space + 1, end, samples.sum, 16);
  return samples;
}

std::string samples_text(const SampleSum& samples) {
  return fmt::format("{} {:016x}", samples.num_samples, samples.sum);
}

}  // namespace

std::string joined_samples(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  const SampleSum first = parse_samples(a);
  const SampleSum second = parse_samples(b);
  return samples_text({first.num_samples + second.num_samples, first.sum + second.sum});
}

SampleListing list_samples(const Source& source, size_t split, std::span<const int64_t> order) {
  PlanHash names;
  PlanHash sizes;
  PlanHash contents;
  PlanHash times;
  SampleSum samples{.num_samples = std::ssize(order)};
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
    samples.sum += one.value();
    has_sizes = has_sizes || identity.num_bytes > 0;
  }
  return {.names = names.digits(),
          .sizes = sizes.digits(),
          .contents = contents.digits(),
          .times = times.digits(),
          .samples = has_sizes ? samples_text(samples) : "",
          .inputs = source.inputs(split)};
}

}  // namespace ffkit
