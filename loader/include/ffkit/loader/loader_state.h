// LoaderState: the place of a loader, to be kept in a checkpoint. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ffkit {

// The place of a loader. A loader continues from it with exactly the next sample, also with another
// batch size, number of threads or world size.
struct LoaderState {
  std::string fingerprint = {};  // of the data set
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t position = 0;  // samples of the epoch consumed by all ranks together
  // Sampler::description(): what else the sequence depends on, such as the samples of an epoch.
  std::string order = {};
  bool operator==(const LoaderState&) const = default;

  // One line of printable text, the same for equal states:
  // "ffkit-loader-state-1 data=0123456789abcdef seed=1 epoch=2 position=300 order=shuffle, 1281167
  // samples".
  [[nodiscard]] std::string to_text() const;
  // The state whose to_text() is `text`. Throws Error(invalid_argument) for any other text.
  static LoaderState from_text(std::string_view text);
};

}  // namespace ffkit
