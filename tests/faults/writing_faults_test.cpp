// What is left where any one call of a disk fails while a data set is made, joined, extended or
// copied: an Error, and nothing that looks finished but is not.
#include <ffkit/converter/convert.h>
#include <ffkit/converter/copy.h>
#include <ffkit/converter/merge.h>
#include <ffkit/converter/v1.h>
#include <ffkit/format/dataset.h>

#include "fake_source.h"
#include "faults/fault_injection.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::FakeSource;
using testing::FaultInjection;
using testing::files_of;
using testing::SystemCall;
using Files = std::map<std::string, std::string>;

void make_set_of(const fs::path& folder, int64_t num_samples, ReadMode read) {
  convert(FakeSource(num_samples, {3}), folder,
          {.num_threads = 1, .bad_samples = BadSamples::skip, .read = read});
}

// What is done in a folder that holds the data sets a and b. The result is out, or a.
struct Work {
  const char* name;
  std::function<void(const fs::path& folder)> run;
  const char* result = "out";
};

const std::vector<Work>& all_work() {
  static const std::vector<Work> all = {
      {"convert", [](const fs::path& dir) { make_set_of(dir / "out", 12, ReadMode::direct); }},
      {"gather", [](const fs::path& dir) { make_set_of(dir / "out", 12, ReadMode::gather); }},
      {"merge",
       [](const fs::path& dir) {
         merge_datasets(dir / "out", {dir / "a", dir / "b"},
                        {.transfer = ShardTransfer::copy, .duplicates = Duplicates::keep});
       }},
      {"append",
       [](const fs::path& dir) {
         append_datasets(dir / "a", {dir / "b"},
                         {.transfer = ShardTransfer::copy, .duplicates = Duplicates::keep});
       },
       "a"},
      {"copy",
       [](const fs::path& dir) { copy_dataset(dir / "a", dir / "out", {.num_threads = 1}); }},
      {"v1",
       [](const fs::path& dir) {
         ffkit::write_v1({Dataset::open(dir / "a", "train")}, dir / "out", {});
       }},
  };
  return all;
}

class WritingFaults : public ::testing::TestWithParam<Work> {
 protected:
  // The same path each time: manifests name it.
  void prepare() const {
    fs::remove_all(folder_);
    make_set_of(folder_ / "a", 6, ReadMode::direct);
    make_set_of(folder_ / "b", 9, ReadMode::direct);
  }
  static bool looks_finished(const Files& files) {
    return (files.contains("train/manifest.json") || files.contains("meta.pkl")) &&
           !files.contains(kUnfinishedMarker);
  }
  // Whether `files` has all of `others`, with the same bytes.
  static bool includes(const Files& files, const Files& others) {
    return std::ranges::all_of(others, [&](const auto& other) {
      const auto found = files.find(other.first);
      return found != files.end() && found->second == other.second;
    });
  }
  Files result() const {
    const fs::path result = folder_ / GetParam().result;
    return fs::exists(result) ? files_of(result) : Files();
  }

  const TempDir dir_;
  const fs::path folder_ = dir_ / "work";
};

TEST_P(WritingFaults, AreNotPassedOver) {
  std::map<SystemCall, int64_t> counts;
  Files before, after;
  {
    prepare();
    before = result();
    const FaultInjection counting;
    GetParam().run(folder_);
    for (const SystemCall call : testing::kSystemCalls) counts[call] = counting.num_calls(call);
    after = result();
  }
  ASSERT_TRUE(before != after);
  // Calls of open(2) and of hints may fail in silence.
  for (const SystemCall call : {SystemCall::write, SystemCall::pwrite, SystemCall::fsync,
                                SystemCall::close, SystemCall::rename}) {
    int64_t num_silent = 0;
    for (int64_t i = 0; i < counts[call]; ++i) {
      SCOPED_TRACE(std::string(to_string(call)) + " " + std::to_string(i) + " of " +
                   std::to_string(counts[call]));
      prepare();
      bool has_failed = false;
      try {
        const FaultInjection injection({.call = call, .first = i, .error = EIO});
        GetParam().run(folder_);
      } catch (const Error& error) {
        has_failed = true;
        EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
        EXPECT_EQ(error.context().errno_value, EIO) << error.what();
      }
      const Files left = result();
      if (!has_failed) {
        ++num_silent;
        EXPECT_TRUE(left == after);
      } else if (looks_finished(left)) {
        EXPECT_TRUE(includes(left, after) || (!before.empty() && includes(left, before)));
      }
    }
    // What is closed last are the files of claims, which hold nothing.
    EXPECT_LE(num_silent, call == SystemCall::close ? 1 : 0) << to_string(call);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, WritingFaults, ::testing::ValuesIn(all_work()),
                         [](const auto& work) { return std::string(work.param.name); });

}  // namespace
}  // namespace ffkit
