// FakeSource: samples without files behind them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ffkit/base/error.h>
#include <ffkit/converter/source.h>

namespace ffkit::testing {

// Samples of growing size without files behind them; some can be bad. Counts reads.
class FakeSource : public Source {
 public:
  // Sources of another `salt` have other bytes under the same names.
  explicit FakeSource(int64_t num_samples, std::vector<int64_t> bad = {}, int64_t salt = 0)
      : splits_{{.name = "train", .num_samples = num_samples, .is_training = true}},
        bad_(bad),
        salt_(salt) {}

  const std::vector<SourceSplit>& splits() const override { return splits_; }
  Schema schema() const override { return image_classification_schema(); }
  const std::vector<std::string>& classes() const override { return none_; }
  const std::vector<std::string>& class_names() const override { return none_; }
  std::map<std::string, std::string> facts(size_t) const override { return {}; }
  const std::vector<std::string>& notes() const override { return none_; }
  std::vector<std::filesystem::path> roots() const override { return {}; }
  int64_t sample_bytes(size_t, int64_t index) const override { return 100 + 37 * (index % 50); }
  // As if they lay in an archive back to front.
  int64_t position(size_t, int64_t index) const override { return -index; }
  std::string describe(size_t, int64_t index) const override {
    return "sample-" + std::to_string(index);
  }
  void read(size_t split, int64_t index, RecordBuilder& record,
            SampleBuffers& buffers) const override {
    ++num_reads;
    if (on_read) on_read(index);
    // Uneven work, so that batches overtake one another.
    if (index % 17 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    record.set_scalar<int64_t>(1, index);
    if (std::ranges::find(bad_, index) != bad_.end()) {
      throw Error(ErrorCode::corrupt, "is bad", {.path = describe(split, index)});
    }
    const auto bytes = buffers.bytes(static_cast<size_t>(sample_bytes(split, index)));
    std::ranges::fill(bytes, static_cast<std::byte>(index));
    std::memcpy(bytes.data(), &salt_, sizeof(salt_));
    record.set_bytes(0, bytes);
    record.set_string(2, buffers.text(describe(split, index)));
  }

  mutable std::atomic<int64_t> num_reads{0};
  std::function<void(int64_t)> on_read;

 private:
  std::vector<SourceSplit> splits_;
  std::vector<int64_t> bad_;
  int64_t salt_;
  std::vector<std::string> none_;
};

}  // namespace ffkit::testing
