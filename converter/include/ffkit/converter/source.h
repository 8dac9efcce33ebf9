// Source: a data set before conversion, with one subclass for each kind of data set (registry.h).
//
//   constructor: list and check everything     read(): one sample at a time, from many threads
//
// The constructor lists the samples cheaply (names, sizes, offsets, never pictures). Then a source
// is immutable: all const functions are thread-safe.
//
// Your own source needs splits(), schema(), describe() and read(); examples/custom_source is one.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/format/content_sum.h>
#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/schema.h>

namespace ffkit {

// A problem of a sample that is converted anyway: a line of DST/report.jsonl.
struct SampleProblem {
  std::string reason;        // "is a CMYK JPEG"
  std::string action;        // what was done, "re-encoded"
  std::string picture = {};  // which one, in a sample that has several; else empty
  int64_t count = 0;         // of what the action says, such as bytes; 0: it is not counted
};

// Actions for samples with an error: there is no record, or one with the unreadable bytes.
inline constexpr const char* kSampleLeftOut = "left out";
inline constexpr const char* kKeptAsItIs = "kept as it is";
// Actions that sources of parts and texts report; ConvertSummary counts them.
inline constexpr const char* kDocumentLeftOut = "document left out";
inline constexpr const char* kBytesReplaced = "replaced by U+FFFD";
inline constexpr const char* kMarkLeftOut = "byte order mark left out";
// Of what SampleBuffers::leave_out() counts.
inline constexpr const char* kItemLeftOut = "left out of its record";
// For pictures that EXIF data rotate, with boxes or masks in unknown pixels.
inline constexpr const char* kKeptUnturned = "kept as it is, with its annotations";
// The column of Source::totals() with the number of all bytes; kBytesReplaced counts some of them.
inline constexpr const char* kReplacedAmong = "text_bytes";

// Lines of report.jsonl of one action that count something.
struct ReportedAction {
  int64_t num_lines = 0;
  int64_t count = 0;  // of documents, bytes, ...: of what the action says
};

// Memory for the fields of one sample, reused for the next one, and its problems. Not thread-safe:
// one per thread.
class SampleBuffers {
 public:
  // Returns `num_bytes` bytes that live until clear(); their content is undefined.
  std::span<std::byte> bytes(size_t num_bytes);
  // Returns an array with undefined content, which lives until clear() and may be resized.
  std::vector<std::byte>& array();
  // Returns a copy of `value` that lives until clear().
  std::string_view text(std::string_view value);
  // Notes a problem of the present sample.
  void report(SampleProblem problem) { problems_.push_back(std::move(problem)); }
  // Notes that a bad item, such as a box without area or a null in a list, is left out of the
  // record of the current sample (converter/bad_items.md). `what`: the item and its fault.
  void leave_out(std::string what, std::string picture = {}, int64_t count = 1) {
    report({std::move(what), kItemLeftOut, std::move(picture), count});
  }
  [[nodiscard]] const std::vector<SampleProblem>& problems() const noexcept { return problems_; }
  // Notes that `stored`, one of the sample's files, was made from the bytes of `file`, so that a
  // merge recognises duplicates.
  void made_from(std::span<const std::byte> stored, std::span<const std::byte> file);
  // The same for all files of a record from another data set: the sum from its shard.
  void set_content(const ContentSum& content) noexcept { content_ = content; }
  [[nodiscard]] const ContentSum& content() const noexcept { return content_; }
  struct Original {
    FileSum stored;
    FileSum file;
  };
  [[nodiscard]] const std::vector<Original>& originals() const noexcept { return originals_; }
  // Treatment of bad samples (ConvertOptions::bad_samples). Unless it is `fail`, a source with
  // samples of independent parts (documents) leaves out a bad part and reports it, instead of
  // throwing for the whole sample. With `keep`, ImageStorer stores a broken picture unchanged.
  [[nodiscard]] BadSamples bad_samples() const noexcept { return bad_samples_; }
  void set_bad_samples(BadSamples bad_samples) noexcept { bad_samples_ = bad_samples; }
  // Seed of random choices while samples are read, such as ImageStorage::raw_share
  // (ConvertOptions::seed).
  [[nodiscard]] uint64_t seed() const noexcept { return seed_; }
  void set_seed(uint64_t seed) noexcept { seed_ = seed; }
  // Reuses all buffers and forgets the problems. Blocks above 1 MiB are freed, so that one huge
  // sample does not stay in memory.
  void clear();

 private:
  std::vector<SampleProblem> problems_;
  std::vector<Original> originals_;
  ContentSum content_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> blocks_;
  size_t num_used_ = 0;
  BadSamples bad_samples_ = BadSamples::fail;
  uint64_t seed_ = 0;
};

struct SourceSplit {
  std::string name;          // becomes the folder's name: "train", "val", ...
  int64_t num_samples = 0;   // at least 1
  int64_t num_bytes = 0;     // of the samples' files together; 0 when it is not known beforehand
  bool is_training = false;  // shuffled by default
};

// Identifies a sample from the source's list, without reading it. The same data give the same
// identity on any machine and below any folder, except `modified`.
struct SampleIdentity {
  std::string name;       // in the split: "n01440764/n01440764_10026.JPEG"
  int64_t num_bytes = 0;  // of its files
  uint64_t content = 0;   // a hash of what the list says of the record's content, such as the label
  // modification time of its file, or a hash of several; 0: it has no separate file
  uint64_t modified = 0;
};

// A file that the source has read, or that contains samples: annotations, an archive.
struct SourceInput {
  std::string name;  // "annotations/instances_train2017.json"
  int64_t num_bytes = 0;
  std::optional<uint32_t> crc32c;  // of its bytes, where the source has read them all
  int64_t modified_ns = 0;         // counts where there is no crc32c
};

// A listed file of a source of many files (ConvertOptions::by_files).
struct SourceFile {
  std::filesystem::path path;
  int64_t num_bytes = 0;
  int64_t modified_ns = 0;  // or a number of the object's version

  bool operator==(const SourceFile&) const = default;
};

struct FilesOfSplit {
  std::string name;
  bool is_training = false;
  std::vector<SourceFile> files;  // in the order of their samples
};

// All files of a source.
struct FileListing {
  std::vector<FilesOfSplit> splits;
  std::vector<std::string> notes;  // as Source::notes()
  std::any found;                  // GroupOfFiles::found, as the list tells it
};

// Some files of a split. A source can be made from them as if there were no others.
struct GroupOfFiles {
  std::string split;
  bool is_training = false;
  std::vector<SourceFile> files;
  // The fields of the samples, in a form private to the kind. The first source finds them out and
  // stores them here; other sources use them.
  std::any* found = nullptr;
};

class Source {
 public:
  virtual ~Source() = default;

  // The splits to convert, in a fixed order.
  [[nodiscard]] virtual const std::vector<SourceSplit>& splits() const = 0;
  [[nodiscard]] virtual Schema schema() const = 0;
  // The schema of a split, if splits differ; schema() by default.
  [[nodiscard]] virtual Schema split_schema(size_t /*split*/) const { return schema(); }
  // Whether records refer to each other by number: then no sample may be left out, and the set must
  // not be merged with others. False by default.
  [[nodiscard]] virtual bool has_record_references() const { return false; }
  // The class of each label, the same for all splits. Empty if there are none.
  [[nodiscard]] virtual const std::vector<std::string>& classes() const;
  // Readable names of the same classes; empty or as many as classes().
  [[nodiscard]] virtual const std::vector<std::string>& class_names() const;
  // Ids of the same classes in the original data, such as COCO's category ids; empty or as many as
  // classes().
  [[nodiscard]] virtual const std::vector<ClassId>& class_ids() const;
  // Facts for the manifests: "kind", "path", "archive", ... None by default.
  [[nodiscard]] virtual std::map<std::string, std::string> facts(size_t /*split*/) const {
    return {};
  }
  // Options of the source that change the bytes of samples, for the manifests. None by default.
  [[nodiscard]] virtual std::map<std::string, std::string> options() const { return {}; }
  // A manifest to use instead of classes, facts and options, with the order and its seed: that of a
  // data set whose records are read in order. If it lists shards, each new shard gets the record
  // count of the old one, and ConvertOptions::shard_bytes is ignored. The split must not be a
  // training split, because it could be shuffled. Null by default.
  [[nodiscard]] virtual const Manifest* manifest(size_t /*split*/) const { return nullptr; }
  // Columns of whole numbers; the summary shows their sums over each split that has them. None by
  // default.
  [[nodiscard]] virtual std::vector<std::string> totals() const { return {}; }
  // Notes for the user, one sentence each ("2 files were left out"). They may name options:
  // with_option_names() (ffkit/base/option_names.h) replaces these.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const;
  // Whether pictures are stored after a check of only their headers; the summary says so. False by
  // default.
  [[nodiscard]] virtual bool checks_headers_only() const { return false; }
  // Listed folders; the destination must not be inside one of them. None by default.
  [[nodiscard]] virtual std::vector<std::filesystem::path> roots() const { return {}; }

  // The identity of a sample, and further files that go into records. If they have changed, a
  // conversion does not continue, and parts of several machines are not merged. By default
  // describe() with sample_bytes(), and no file.
  [[nodiscard]] virtual SampleIdentity identity(size_t split, int64_t index) const;
  [[nodiscard]] virtual std::vector<SourceInput> inputs(size_t /*split*/) const { return {}; }

  // The field `id` of the sample's record, if the list contains it; it selects samples
  // (ConvertOptions::only). Default: nothing, the id is known only after read().
  [[nodiscard]] virtual std::optional<std::string> listed_id(size_t /*split*/,
                                                             int64_t /*index*/) const {
    return std::nullopt;
  }

  // Bytes that read() will bring into memory, or 0 if unknown; then batches of large samples are
  // not limited.
  [[nodiscard]] virtual int64_t sample_bytes(size_t /*split*/, int64_t /*index*/) const {
    return 0;
  }
  // The file that contains all samples of the split; empty if they are separate or made files.
  [[nodiscard]] virtual std::filesystem::path archive(size_t /*split*/) const { return {}; }
  // Position of the sample in archive(), from front to back.
  [[nodiscard]] virtual int64_t position(size_t /*split*/, int64_t index) const { return index; }
  // Whether samples should be read in the order of position(), because each is loaded with its
  // neighbours: a conversion in another order then uses temporary files. False by default.
  [[nodiscard]] virtual bool reads_in_order() const { return false; }
  // The sample will be read soon: the disk may fetch it meanwhile. Does nothing by default.
  virtual void will_read(size_t /*split*/, int64_t /*index*/) const {}
  // Where the sample comes from, for messages: a file, or "archive.tar: member".
  [[nodiscard]] virtual std::string describe(size_t split, int64_t index) const = 0;
  // Sets the fields of sample `index` (0 .. num_samples-1) in `record`; they may point into
  // `buffers`. Throws Error for an unreadable or wrong sample.
  virtual void read(size_t split, int64_t index, RecordBuilder& record,
                    SampleBuffers& buffers) const = 0;
};

// The word for records of `source` in messages: "pictures" if each record is one, else "records".
const char* record_noun(const Source& source);

}  // namespace ffkit
