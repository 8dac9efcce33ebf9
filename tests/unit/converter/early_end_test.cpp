// Conversions that end early, for whatever reason: what is finished stays, and the folder says how
// to go on.
#include <system_error>

#include "converter_prelude.h"

namespace ffkit {
namespace {

constexpr int64_t kEarlySamples = 4000;  // about 4 shards

// Without .tmp files and the marker.
std::vector<std::string> shards_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files_of(folder)) {
    if (name.ends_with(".ffr")) names.push_back(name);
  }
  return names;
}

ConvertOptions early_options(bool resume = false) {
  return {.num_threads = 2, .shard_bytes = 1 << 20, .seed = 3, .resume = resume};
}

std::string conversion_error(const Source& source, const fs::path& destination,
                             const ConvertOptions& options) {
  try {
    convert(source, destination, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "finished";
}

class EarlyEndTest : public ::testing::Test {
 protected:
  void SetUp() override {
    convert(FakeSource(kEarlySamples), dir_ / "undisturbed", early_options());
    expected_ = files_of(dir_ / "undisturbed");
  }

  // Calls `fail` when `num_reads` samples were read.
  std::string fail_after(int64_t num_reads, const std::function<void()>& fail,
                         const ConvertOptions& options) {
    FakeSource source(kEarlySamples);
    source.on_read = [&](int64_t) {
      if (source.num_reads > num_reads) fail();
    };
    return conversion_error(source, dir_ / "out", options);
  }

  void expect_that_it_can_go_on() {
    EXPECT_EQ(conversion_error(FakeSource(kEarlySamples), dir_ / "out", early_options(true)),
              "finished");
    EXPECT_TRUE(files_of(dir_ / "out") == expected_);
    fs::remove_all(dir_ / "out");
  }

  TempDir dir_;
  std::map<std::string, std::string> expected_;
};

TEST_F(EarlyEndTest, AnyExceptionKeepsFinishedShards) {
  const auto no_thread = [] {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  const auto no_memory = [] { throw std::bad_alloc(); };
  const auto unknown = [] { throw 1; };  // NOLINT(hicpp-exception-baseclass)
  const std::vector<std::pair<std::function<void()>, std::string>> cases = {
      {no_thread, "raise the limit on processes"},
      {no_memory, "there is not enough memory"},
      {unknown, "failed for an unknown reason"}};
  for (const auto& [fail, words] : cases) {
    EXPECT_THAT(fail_after(3000, fail, early_options()),
                AllOf(HasSubstr(words), HasSubstr("shards are finished"),
                      HasSubstr("run the conversion again with resume = true to continue")));
    const auto shards = shards_in(dir_ / "out");
    EXPECT_GE(shards.size(), 1U) << words;
    // Again at once, before there is anything new.
    EXPECT_THAT(fail_after(0, fail, early_options(true)), HasSubstr(words));
    EXPECT_EQ(shards_in(dir_ / "out"), shards) << words;
    expect_that_it_can_go_on();
  }
}

// A list without the file would be another conversion, so skipping it does not go on.
TEST_F(EarlyEndTest, AFileThatIsGoneIsToBeBroughtBack) {
  const auto gone = [] { throw Error(ErrorCode::not_found, "cannot be opened"); };
  EXPECT_THAT(
      fail_after(3000, gone, early_options()),
      AllOf(HasSubstr("restore the old file, then run the conversion again with resume = true"),
            ::testing::Not(HasSubstr("bad_samples"))));
  expect_that_it_can_go_on();
}

TEST_F(EarlyEndTest, TooLittleMemoryIsNoBadSample) {
  ConvertOptions options = early_options();
  options.bad_samples = BadSamples::skip;
  const auto no_memory = [] {
    throw Error(ErrorCode::io, "there is not enough memory", {.errno_value = ENOMEM});
  };
  EXPECT_THAT(fail_after(3000, no_memory, options), HasSubstr("there is not enough memory"));
}

TEST_F(EarlyEndTest, TheFolderTellsTheCommandThatFinishesIt) {
  ConvertOptions options = early_options();
  options.command = "cd / && ffconvert demo 'a b' --resume";
  EXPECT_THAT(fail_after(
                  3000, [] { throw std::bad_alloc(); }, options),
              HasSubstr("resume = true"));
  EXPECT_ERROR(Dataset::open(dir_ / "out", "train"), invalid_argument);
  // A refused command is not what is told.
  options.resume = true;
  options.seed = 4;
  options.command = "another";
  EXPECT_ERROR(convert(FakeSource(kEarlySamples), dir_ / "out", options), invalid_argument,
               .subject = destination);
  EXPECT_ERROR(Dataset::open(dir_ / "out", "train"), invalid_argument);
  expect_that_it_can_go_on();
}

TEST_F(EarlyEndTest, GoingOnWithAFinishedDataSetIsSuccess) {
  std::vector<std::string> notes;
  ConvertOptions options = early_options(true);
  options.note = [&](const std::string& note) { notes.push_back(note); };
  const FakeSource source(kEarlySamples);
  const ConvertSummary summary = convert(source, dir_ / "undisturbed", options);
  EXPECT_TRUE(summary.was_finished);
  EXPECT_EQ(summary.num_records(), kEarlySamples);
  EXPECT_EQ(summary.splits[0].fingerprint,
            Dataset::open(dir_ / "undisturbed", "train").manifest().fingerprint());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("is already finished"));
  EXPECT_EQ(source.num_reads, 32);  // the plan
  // For another source or other options it is not finished, and is refused.
  const auto expect_refused = [&](const Source& other, const ConvertOptions& with) {
    EXPECT_ERROR(convert(other, dir_ / "undisturbed", with), invalid_argument);
  };
  expect_refused(FakeSource(kEarlySamples + 1), options);
  options.seed = 4;
  expect_refused(source, options);
  options.seed = 3;
  options.part = {.index = 1, .count = 2};
  expect_refused(source, options);
  EXPECT_TRUE(files_of(dir_ / "undisturbed") == expected_);
  // Samples that were left out are in the report, not in the shards.
  const FakeSource bad(kEarlySamples, {7, 8});
  options = early_options();
  options.bad_samples = BadSamples::skip;
  options.part = {.index = 2, .count = 2};
  convert(bad, dir_ / "out", options);
  options.resume = true;
  EXPECT_TRUE(convert(bad, dir_ / "out", options).was_finished);
}

TEST_F(EarlyEndTest, WhatWasGatheredIsKept) {
  ConvertOptions options = early_options();
  options.read = ReadMode::gather;
  std::atomic<bool> cancel{false};
  options.cancel = &cancel;
  // After the last sample, before the first shard.
  options.progress = [&](const ConvertProgress& progress) {
    cancel = progress.num_done == kEarlySamples;
  };
  EXPECT_ERROR(convert(FakeSource(kEarlySamples), dir_ / "out", options), cancelled);
  EXPECT_TRUE(shards_in(dir_ / "out").empty());
  const FakeSource source(kEarlySamples);
  EXPECT_EQ(conversion_error(source, dir_ / "out", early_options(true)), "finished");
  EXPECT_EQ(source.num_reads, 32);
  EXPECT_TRUE(files_of(dir_ / "out") == expected_);
}

}  // namespace
}  // namespace ffkit
