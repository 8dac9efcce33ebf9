// A source of a thousand million samples is planned, and some groups of it are converted, in
// memory that does not know how many there are.
#include "converter_prelude.h"
#include "made_files.h"

namespace ffkit {
namespace {

using testing::MadeFiles;

// In MB, of this process since its last call; nothing where the kernel does not let it begin anew.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024 / 1e6;
  }
  return 0;
}

TEST(GroupMemory, IsThatOfOneGroup) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has memory of its own";
#endif
  const MadeFiles files{
      .num_files = 100'000, .num_samples = [](int64_t) { return 10'000; }, .sample_bytes = 64};
  ConvertOptions options{.num_threads = 2, .shard_bytes = 8 << 20, .by_files = 0};
  options.part = {.index = 2, .count = 3000};
  const TempDir dir;
  std::ofstream("/proc/self/clear_refs") << "5";
  const auto source = files.source(options);
  const ConvertSummary summary = convert(*source, dir / "part", options);
  const double peak = peak_memory();
  RecordProperty("peak_mb", std::to_string(peak));
  EXPECT_EQ(summary.splits.at(0).num_records, 280'000);  // two groups of 14 files
  EXPECT_LT(peak, 300);
  EXPECT_EQ(Dataset::open(dir / "part", "train").num_records(), summary.num_records());
}

}  // namespace
}  // namespace ffkit
