// Errors and what they carry. What the standard library throws comes out of the public functions as
// Error: memory, paths and numbers out of range.
#include <system_error>

#include <ffkit/base/compression.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/format/packed_folder.h>
#include <ffkit/format/record.h>
#include <ffkit/format/record_unpacker.h>
#include <ffkit/format/shard_reader.h>
#include <ffkit/format/shard_writer.h>
#include <ffkit/format/v1_writer.h>

#include "base/make_error.h"
#include "little_memory.h"
#include "test_prelude.h"
#include "v1_file_builder.h"

namespace ffkit {
namespace {

using testing::expect;

TEST(OptionNames, AreWrittenAsTheCallerKnowsThem) {
  const std::string text = fmt::format("give {} or {}, not {}", option_set("bad_samples", "skip"),
                                       option_on("fix_odd"), option_name("shard_size"));
  EXPECT_EQ(with_option_names(text, OptionStyle::field),
            "give bad_samples = skip or fix_odd = true, not shard_bytes");
  EXPECT_EQ(with_option_names(text, OptionStyle::command_line),
            "give --bad-samples skip or --fix-odd, not --shard-size");
  EXPECT_EQ(with_option_names(text, OptionStyle::python),
            "give bad_samples=\"skip\" or fix_odd=True, not shard_size");
  EXPECT_EQ(with_option_names(option_set("num_threads", "4"), OptionStyle::python),
            "num_threads=4");
  EXPECT_EQ(with_option_names(option_name("order"), OptionStyle::field), "'order'");
  EXPECT_EQ(with_option_names(option_name("order"), OptionStyle::command_line), "--order");
  EXPECT_EQ(with_option_names(option_name("order"), OptionStyle::python), "'order'");
}

TEST(OptionNames, LeaveOtherTextAlone) {
  for (const std::string text : {"", "a\x01", "\x01 b\x04", "\x01\x04", "a\x04z", "\x01x"}) {
    EXPECT_EQ(with_option_names(text, OptionStyle::python), text);
  }
}

TEST(Error, ShowsOptionsInEveryStyle) {
  const Error error(ErrorCode::io, "failed with " + option_on("resume"),
                    {.path = "/a", .errno_value = EFBIG, .remedy = "give " + option_name("part")});
  EXPECT_STREQ(error.what(), "/a: failed with resume = true: File too large (EFBIG); give 'part'");
  EXPECT_EQ(error.text(OptionStyle::command_line),
            "/a: failed with --resume: File too large (EFBIG); give --part");
}

TEST(Error, KeepsWhatItKnowsWithOtherWords) {
  const Error error(ErrorCode::io, "failed", {.path = "/a", .record = 3, .errno_value = EFBIG});
  const Error other = error.with_message("cannot be written").with_remedy("free some space");
  EXPECT_EQ(other.code(), ErrorCode::io);
  EXPECT_EQ(other.context().errno_value, EFBIG);
  EXPECT_STREQ(other.what(),
               "/a: record 3: cannot be written: File too large (EFBIG); free some space");
}

TEST(Error, LearnsFromFurtherOutWhatItDoesNotKnow) {
  const Error error(ErrorCode::corrupt, "is not a picture");
  const Error placed = error.within(
      {.path = "/a", .record = 2, .subject = ErrorSubject::sample, .remedy = "look at it"});
  EXPECT_STREQ(placed.what(), "/a: record 2: is not a picture; look at it");
  EXPECT_EQ(placed.context().subject, ErrorSubject::sample);
  // What is known is not replaced.
  const Error again = placed.within({.path = "/a", .record = 9, .subject = ErrorSubject::shard});
  EXPECT_STREQ(again.what(), placed.what());
  EXPECT_EQ(again.context().subject, ErrorSubject::sample);
}

TEST(Error, KeepsItsOwnPathAndNamesTheOuterOne) {
  const Error error(ErrorCode::io, "cannot be read", {.path = "/in", .errno_value = EIO});
  const Error placed = error.within({.path = "/out", .record = 4});
  EXPECT_STREQ(placed.what(), "/out: record 4: /in: cannot be read: Input/output error (EIO)");
  EXPECT_EQ(placed.context().path, "/in");
  EXPECT_EQ(placed.context().record, -1);
  EXPECT_EQ(placed.context().errno_value, EIO);
}

TEST(ErrorsOnly, TurnsWhatTheStandardLibraryThrows) {
  const auto thrown = [](auto exception) {
    return [exception] { errors_only("a/file", 7, "do this", [&] { throw exception; }); };
  };
  EXPECT_ERROR(thrown(std::bad_alloc())(), io, .record = 7);
  EXPECT_ERROR(thrown(std::length_error("vector"))(), io, .record = 7);
  EXPECT_ERROR(thrown(std::system_error(EAGAIN, std::generic_category()))(), io, .record = 7);
  EXPECT_ERROR(thrown(fs::filesystem_error("status", "a/b", {ELOOP, std::generic_category()}))(),
               io, .record = 7);
  EXPECT_ERROR(thrown(fs::filesystem_error("status", {ENOENT, std::generic_category()}))(),
               not_found, .record = 7);
  EXPECT_ERROR(thrown(Error(ErrorCode::cancelled, "as it is"))(), cancelled);
  EXPECT_THROW(thrown(std::invalid_argument("a user's"))(), std::invalid_argument);
  EXPECT_EQ(errors_only("", [] { return 3; }), 3);
}

TEST(ErrorsOnly, LinksThatLeadInCirclesAreNamed) {
  const TempDir dir;
  fs::create_symlink(dir / "loop", dir / "loop");
  const fs::path loop = dir / "loop";
  EXPECT_ERROR(Dataset::open(loop), io);
  EXPECT_ERROR(Dataset::open(loop, "train"), io);
  EXPECT_ERROR(Dataset::open_files({loop}), io);
  EXPECT_ERROR(list_splits(loop), io);
  EXPECT_ERROR(ShardReader(loop), io, .subject = shard);
  EXPECT_ERROR(PackedFolder::is_packed_folder(loop), io);
  EXPECT_ERROR(PackedFolder{loop}, io);
  EXPECT_ERROR(V1Writer(loop / "a.ffr", 1), io);
  EXPECT_ERROR(ShardWriter(loop / "a.ffr", image_classification_schema()), io);
  EXPECT_ERROR(DatasetWriter(loop, {.split = "train", .schema = image_classification_schema()}),
               io);
  EXPECT_ERROR(write_manifest(loop / "manifest.json", {}), io);
}

TEST(ErrorsOnly, FoldersThatMayNotBeEnteredAreNamed) {
  const TempDir dir;
  fs::create_directory(dir / "closed");
  const auto child = [&] {
    expect(chmod((dir / "closed").c_str(), 0) == 0, "chmod");
    if (getuid() == 0) expect(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
    try {
      Dataset::open(dir / "closed" / "set", "train");
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(error.code() == ErrorCode::io ? 0 : 1);
    }
    _exit(2);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "cannot be examined.*EACCES");
}

TEST(ErrorsOnly, NumbersOutOfRangeAreRefused) {
  const TempDir dir;
  testing::write_v1_file(dir / "a.ffr", {"one", "two"});
  const Dataset dataset = Dataset::open(dir / "a.ffr");
  EXPECT_ERROR(dataset.shard(-1), invalid_argument);
  EXPECT_ERROR(dataset.shard(1), invalid_argument);
  EXPECT_ERROR(ListView().bytes(0), invalid_argument, .subject = sample);
  const Schema schema{{{.name = "l", .type = FieldType::list, .item = FieldType::string}}};
  RecordBuilder builder(schema);
  const std::vector<std::string_view> items{"a", "b"};
  builder.set_list(0, items);
  std::vector<std::byte> record = testing::encoded(builder);
  EXPECT_ERROR(RecordView(schema, record).list(0).string(2), invalid_argument, .subject = sample);
  EXPECT_EQ(RecordView(schema, record).list(0).string(1), "b");
}

// A v1 file of one record of `num_bytes` that takes no disk.
void make_sparse(const fs::path& path, uintmax_t num_bytes) {
  std::ofstream(path, std::ios::binary) << testing::v1_bytes({"a"}, false);
  fs::resize_file(path, num_bytes);
}

template <typename Work>
void expect_no_memory(const Work& work, const char* message) {
  const auto child = [&] {
    alarm(300);
    try {
      work();
    } catch (const Error& error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(0);
    } catch (const std::exception& error) {
      fprintf(stderr, "not an Error: %s\n", error.what());
      _exit(1);
    }
    _exit(2);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), message);
}

TEST(ErrorsOnly, RecordsWithoutMemoryAreNamed) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const TempDir dir;
  make_sparse(dir / "a.ffr", 200 << 20);
  const ShardReader reader(dir / "a.ffr");
  const Dataset dataset = Dataset::open_files({dir / "a.ffr"});
  std::vector<std::byte> out;
  const char* const message = "a.ffr: record 0: there is not enough memory for the record: ";
  expect_no_memory(
      [&] {
        testing::leave_memory(100 << 20);
        reader.read(0, out);
      },
      message);
  expect_no_memory(
      [&] {
        testing::leave_memory(300 << 20);  // the record is there, its copy is not
        reader.read(0, out);
      },
      message);
  expect_no_memory(
      [&] {
        testing::leave_memory(100 << 20);
        dataset.read_field(0, 0, out);
      },
      message);
}

TEST(ErrorsOnly, LongListsAndRecordsWithoutMemoryAreErrors) {
  FFKIT_SKIP_WITHOUT_MEMORY_LIMITS();
  const TempDir dir;
  testing::write_v1_file(dir / "a.ffr", {"one"});
  const Dataset dataset = Dataset::open(dir / "a.ffr");
  const std::vector<int64_t> records(16 << 20, 0);
  const Schema schema{{{.name = "b", .type = FieldType::bytes}}};
  const std::vector<std::byte> bytes(64 << 20);
  expect_no_memory(
      [&] {
        testing::leave_memory(32 << 20);
        static_cast<void>(dataset.subset(records));
      },
      "a.ffr: there is not enough memory: .*ENOMEM.; give the process more");
  expect_no_memory(
      [&] {
        testing::leave_memory(32 << 20);
        RecordBuilder builder(schema);
        builder.set_bytes(0, bytes);
        std::vector<std::byte> record = testing::encoded(builder);
      },
      "there is not enough memory");
  expect_no_memory(
      [&] {
        testing::leave_memory(32 << 20);
        RecordCompressor({.level = 3}).compress(bytes);
      },
      "there is not enough memory");
}

}  // namespace
}  // namespace ffkit
