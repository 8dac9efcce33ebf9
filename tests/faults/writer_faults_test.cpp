// What ShardWriter, DatasetWriter and write_manifest leave behind on a disk that fails: an Error
// that names file and reason, and nothing that looks finished but is not.
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/format/v1_writer.h>

#include "faults/fault_injection.h"
#include "faults/write_journal.h"
#include "test_prelude.h"

namespace ffkit {
namespace {

using testing::Fault;
using testing::FaultInjection;
using testing::SystemCall;

std::vector<std::byte> make_record(const Schema& schema, int64_t i) {
  // Among them records that are larger than the writer's buffer.
  std::vector<std::byte> image(i % 9 == 8 ? 1'200'000 : 10'000 + 1000 * static_cast<size_t>(i));
  std::mt19937 random(static_cast<uint32_t>(i));
  for (std::byte& byte : image) byte = static_cast<std::byte>(random());
  const std::string id = "sample-" + std::to_string(i);
  RecordBuilder builder(schema);
  builder.set_bytes(0, image);
  builder.set_scalar<int64_t>(1, i);
  builder.set_string(2, id);
  return testing::encoded(builder);
}

// Made before anything fails.
const std::vector<std::vector<std::byte>>& records() {
  static const auto made = [] {
    std::vector<std::vector<std::byte>> all;
    for (int64_t i = 0; i < 40; ++i) {
      all.push_back(make_record(image_classification_schema(), i));
    }
    return all;
  }();
  return made;
}

// Something that is written into an empty folder.
struct Writing {
  const char* name;
  std::function<void(const fs::path& folder)> write;
  bool tries_again = false;  // a step that failed
};

// For a caller that tries everything that fails once more, and then goes on.
class Stubborn {
 public:
  template <typename Step>
  void attempt(const Step& step) {
    for (int i = 0; i < 2; ++i) {
      try {
        step();
        return;
      } catch (const Error&) {
        if (first_ == nullptr) first_ = std::current_exception();
      }
    }
  }
  void rethrow_first() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

void write_shard(const fs::path& folder) {
  ShardWriter writer(folder / "shard-00000.ffr", image_classification_schema(), {.uuid = {1}});
  for (const auto& record : records()) writer.append(record);
  writer.finish();
}

void write_shard_stubbornly(const fs::path& folder) {
  ShardWriter writer(folder / "shard-00000.ffr", image_classification_schema(), {.uuid = {1}});
  Stubborn caller;
  for (const auto& record : records()) caller.attempt([&] { writer.append(record); });
  caller.attempt([&] { writer.finish(); });
  caller.rethrow_first();
}

Manifest manifest() {
  return {.split = "train", .schema = image_classification_schema(), .created_by = "test"};
}

// Enough for two full shards of 1 MiB and a third.
std::span<const std::vector<std::byte>> some_records() {
  return std::span(records()).first(20);
}

void write_v1(const fs::path& folder) {
  V1Writer writer(folder / "PART_00000.ffr", static_cast<int64_t>(some_records().size()));
  for (const auto& record : some_records()) writer.append(record);
  writer.finish();
}

void write_dataset(const fs::path& folder) {
  DatasetWriter writer(folder, manifest(), {.shard_bytes = 1 << 20});
  for (const auto& record : some_records()) writer.append(record);
  writer.finish();
}

void write_dataset_stubbornly(const fs::path& folder) {
  DatasetWriter writer(folder, manifest(), {.shard_bytes = 1 << 20});
  Stubborn caller;
  for (const auto& record : some_records()) caller.attempt([&] { writer.append(record); });
  caller.attempt([&] { writer.finish(); });
  caller.rethrow_first();
}

void write_only_manifest(const fs::path& folder) {
  Manifest large = manifest();
  for (int i = 0; i < 1000; ++i) large.classes.push_back("class " + std::to_string(i));
  write_manifest(folder / "manifest.json", large);
}

using Files = std::map<std::string, std::string>;

Files read_files(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

class WriterFaults : public ::testing::TestWithParam<Writing> {
 protected:
  WriterFaults() {
    records();
    const TempDir dir;
    FaultInjection counter;
    GetParam().write(dir.path());
    for (const SystemCall call : testing::kSystemCalls) {
      num_calls_[call] = counter.num_calls(call);
    }
    expected_ = read_files(dir.path());
  }

  // The system calls of an undisturbed run, and what it writes.
  std::map<SystemCall, int64_t> num_calls_;
  Files expected_;

  void expect_error(const Fault& fault, const char* reason) {
    SCOPED_TRACE(std::string(to_string(fault.call)) + " number " + std::to_string(fault.first) +
                 " with " + reason);
    const TempDir dir;
    try {
      const FaultInjection injection(fault);
      GetParam().write(dir.path());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::io) << e.what();
      EXPECT_EQ(e.context().errno_value, fault.error) << e.what();
      EXPECT_TRUE(std::string(e.what()).starts_with(dir.path().string())) << e.what();
      EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
    }
    const Files files = read_files(dir.path());
    for (const auto& [name, bytes] : files) {
      // A new attempt may succeed, but then altogether.
      EXPECT_TRUE(name != "manifest.json" || (GetParam().tries_again && files == expected_));
      EXPECT_FALSE(name.ends_with(".tmp")) << name;
      EXPECT_TRUE(expected_.contains(name)) << name;
      EXPECT_TRUE(bytes == expected_[name]) << name << " is under its final name, but not whole";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, WriterFaults,
    ::testing::Values(Writing{"ShardWriter", write_shard},
                      Writing{"StubbornShardWriter", write_shard_stubbornly, true},
                      Writing{"DatasetWriter", write_dataset},
                      Writing{"StubbornDatasetWriter", write_dataset_stubbornly, true},
                      Writing{"V1Writer", write_v1}, Writing{"Manifest", write_only_manifest}),
    [](const auto& writing) { return std::string(writing.param.name); });

TEST_P(WriterFaults, EndInAnErrorWhicheverCallFails) {
  for (const SystemCall call : {SystemCall::open, SystemCall::write, SystemCall::pwrite,
                                SystemCall::fsync, SystemCall::close, SystemCall::rename}) {
    // Only v1's header is not written in order.
    const bool is_used = call != SystemCall::pwrite || GetParam().name == std::string("V1Writer");
    ASSERT_EQ(num_calls_[call] > 0, is_used) << to_string(call);
    for (int64_t i = 0; i < num_calls_[call]; ++i) {
      expect_error({.call = call, .first = i, .error = EIO}, "EIO");
      expect_error({.call = call, .first = i, .error = ENOSPC, .forever = true}, "ENOSPC");
    }
  }
}

TEST_P(WriterFaults, NameTheRemedyForAFullDiskAndALimitAlone) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EIO}) {
    const TempDir dir;
    try {
      const FaultInjection injection(
          {.call = SystemCall::write, .first = 0, .error = error, .forever = true});
      GetParam().write(dir.path());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& e) {
      const std::string remedy = error == EIO     ? ""
                                 : error == EFBIG ? "raise the limit on the size of files (ulimit "
                                                    "-f) and run again"
                                                  : "free some space and run again";
      EXPECT_EQ(e.context().remedy, remedy) << e.what();
    }
  }
}

TEST_P(WriterFaults, EndInAnErrorWhenNothingIsTaken) {
  for (int64_t i = 0; i < num_calls_[SystemCall::write]; ++i) {
    const TempDir dir;
    const FaultInjection injection({.call = SystemCall::write, .first = i, .forever = true});
    EXPECT_THROW(GetParam().write(dir.path()), Error);
    EXPECT_FALSE(fs::exists(dir / "manifest.json"));
  }
}

TEST_P(WriterFaults, AreOvercomeWhenWritesAreShortAndInterrupted) {
  const TempDir dir;
  FaultInjection injection;
  injection.disturb();
  GetParam().write(dir.path());
  EXPECT_GT(injection.num_calls(SystemCall::write), 2 * num_calls_[SystemCall::write]);
  EXPECT_TRUE(read_files(dir.path()) == expected_);
}

TEST_P(WriterFaults, LeaveNothingThatAPowerCutTakesBack) {
  const TempDir dir;
  const testing::WriteJournal journal;
  GetParam().write(dir.path());
  EXPECT_THAT(journal.problems(), ::testing::IsEmpty());
  for (const auto& [name, bytes] : expected_) {
    EXPECT_FALSE(journal.has_synced(dir / name)) << "it was fsynced under its temporary name";
    EXPECT_TRUE(journal.has_synced(dir / (name + ".tmp"))) << name;
  }
  EXPECT_TRUE(journal.has_synced(dir.path()));
}

// Early write-back is a hint; file systems without it exist.
TEST_P(WriterFaults, AreIgnoredInEarlyWriteBack) {
  const TempDir dir;
  const FaultInjection injection(
      {.call = SystemCall::sync_file_range, .error = ENOSYS, .forever = true});
  GetParam().write(dir.path());
  EXPECT_TRUE(read_files(dir.path()) == expected_);
}

TEST(WriterFaults, CountsEarlyWriteBack) {
  const TempDir dir;
  const FaultInjection counter;
  ShardWriter writer(dir / "a.ffr", image_classification_schema());
  for (int i = 0; i < 4; ++i) {
    for (const auto& record : records()) writer.append(record);
  }
  EXPECT_GE(counter.num_calls(SystemCall::sync_file_range), writer.bytes_written() >> 24);
}

// Some network file systems cannot fsync folders.
TEST(WriterFaults, AreNoneWhereFoldersHaveNoFsync) {
  const TempDir dir;
  {
    const FaultInjection injection({.call = SystemCall::fsync, .first = 1, .error = EINVAL});
    write_shard(dir.path());
  }
  EXPECT_TRUE(ShardReader(dir / "shard-00000.ffr").verify().empty());
}

}  // namespace
}  // namespace ffkit
