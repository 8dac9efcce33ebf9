// Source: a data set as it comes, before conversion. One subclass a kind of data set (registry.h).
//
//   constructor: list and check everything     read(): one sample at a time, from many threads
//
// A source lists its samples when it is made, cheaply (names, sizes, offsets, never pictures), and
// is immutable from then on: all const functions are thread-safe.
//
// One's own needs splits(), schema(), describe() and read(); examples/custom_source is one.
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

// Something about a sample that the user should know although it is taken: a line of
// DST/report.jsonl.
struct SampleProblem {
  std::string reason;        // "is a CMYK JPEG"
  std::string action;        // what was done, "re-encoded"
  std::string picture = {};  // which one, in a sample that has several; else empty
  int64_t count = 0;         // of what the action says, such as bytes; 0: it is not counted
};

// Actions of samples with an error: there is no record, or one of what could not be read.
inline constexpr const char* kSampleLeftOut = "left out";
inline constexpr const char* kKeptAsItIs = "kept as it is";
// Actions that sources of parts and texts report; ConvertSummary counts them.
inline constexpr const char* kDocumentLeftOut = "document left out";
inline constexpr const char* kBytesReplaced = "replaced by U+FFFD";
inline constexpr const char* kMarkLeftOut = "byte order mark left out";
// Of what SampleBuffers::leave_out() counts.
inline constexpr const char* kItemLeftOut = "left out of its record";
// Of pictures that EXIF data turn and that have boxes or masks, where nothing says of which pixels.
inline constexpr const char* kKeptUnturned = "kept as it is, with its annotations";
// The column of Source::totals() whose sum is all bytes, of which kBytesReplaced counts some.
inline constexpr const char* kReplacedAmong = "text_bytes";

// Lines of report.jsonl of one action that count something.
struct ReportedAction {
  int64_t num_lines = 0;
  int64_t count = 0;  // of documents, bytes, ...: of what the action says
};

// Memory for the fields of one sample, kept from one sample to the next, and what there is to say
// about it. Not thread-safe: one per thread.
class SampleBuffers {
 public:
  // Returns `num_bytes` bytes that live until clear(); their content is undefined.
  std::span<std::byte> bytes(size_t num_bytes);
  // Returns an array, with undefined content, that lives until clear() and may be resized till
  // then.
  std::vector<std::byte>& array();
  // Returns a copy of `value` that lives until clear().
  std::string_view text(std::string_view value);
  // Notes a problem of the present sample.
  void report(SampleProblem problem) { problems_.push_back(std::move(problem)); }
  // Notes that a bad item of the present sample, such as a box without area or a null in a list, is
  // left out of its record, which stays (converter/bad_items.md). `what`: which one it is and what
  // is wrong with it.
  void leave_out(std::string what, std::string picture = {}, int64_t count = 1) {
    report({std::move(what), kItemLeftOut, std::move(picture), count});
  }
  [[nodiscard]] const std::vector<SampleProblem>& problems() const noexcept { return problems_; }
  // Notes that `stored`, one of the sample's files, is made from the bytes of `file`: by these the
  // record is known again when sets are joined.
  void made_from(std::span<const std::byte> stored, std::span<const std::byte> file);
  // The same of all files of a record that another set has: what its shard keeps.
  void set_content(const ContentSum& content) noexcept { content_ = content; }
  [[nodiscard]] const ContentSum& content() const noexcept { return content_; }
  struct Original {
    FileSum stored;
    FileSum file;
  };
  [[nodiscard]] const std::vector<Original>& originals() const noexcept { return originals_; }
  // What becomes of bad samples (ConvertOptions::bad_samples). Unless it is `fail`, a source whose
  // samples have parts that stand alone (documents) leaves out a bad part and reports it, instead
  // of throwing for the whole sample. If it is `keep`, ImageStorer stores a broken picture as it
  // is.
  [[nodiscard]] BadSamples bad_samples() const noexcept { return bad_samples_; }
  void set_bad_samples(BadSamples bad_samples) noexcept { bad_samples_ = bad_samples; }
  // Of what is drawn while samples are read, such as ImageStorage::raw_share
  // (ConvertOptions::seed).
  [[nodiscard]] uint64_t seed() const noexcept { return seed_; }
  void set_seed(uint64_t seed) noexcept { seed_ = seed; }
  // Takes all buffers back and forgets the problems; blocks that grew beyond 1 MiB are freed, so
  // that one huge sample does not stay in memory.
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

// A sample as the source has listed it, told from others without being read. Whoever lists the same
// data gets the same, on any machine and below any folder, but for `modified`.
struct SampleIdentity {
  std::string name;       // in the split: "n01440764/n01440764_10026.JPEG"
  int64_t num_bytes = 0;  // of its files
  uint64_t content = 0;   // a hash of what the list says of the record's content, such as the label
  // its file's time of modification, or a hash of those of several; 0: it has no file of its own
  uint64_t modified = 0;
};

// A file that the source has read, or that samples lie in: annotations, an archive.
struct SourceInput {
  std::string name;  // "annotations/instances_train2017.json"
  int64_t num_bytes = 0;
  std::optional<uint32_t> crc32c;  // of its bytes, where the source has read them all
  int64_t modified_ns = 0;         // counts where there is no crc32c
};

// A file of a source that is made of many (ConvertOptions::by_files), as it was listed.
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

// Some of the files of a split, of which a source is made as if there were no others.
struct GroupOfFiles {
  std::string split;
  bool is_training = false;
  std::vector<SourceFile> files;
  // What the samples' fields are, in a form that only the kind knows. The first source that is made
  // finds it out and puts it here; the others take it as it is.
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
  // Whether records refer to others by number: then no sample may be left out, and the set is not
  // to be merged with others. False by default.
  [[nodiscard]] virtual bool has_record_references() const { return false; }
  // Class i is what label i stands for; the same for all splits. Empty when there are none.
  [[nodiscard]] virtual const std::vector<std::string>& classes() const;
  // Readable names of the same classes; empty or as many as classes().
  [[nodiscard]] virtual const std::vector<std::string>& class_names() const;
  // What the same classes are called where the data came from, such as COCO's category ids; empty
  // or as many as classes().
  [[nodiscard]] virtual const std::vector<ClassId>& class_ids() const;
  // Facts for the manifests: "kind", "path", "archive", ... None by default.
  [[nodiscard]] virtual std::map<std::string, std::string> facts(size_t split) const;
  // What was asked of the source that changes its samples' bytes, for the manifests' options. None
  // by default.
  [[nodiscard]] virtual std::map<std::string, std::string> options() const;
  // A manifest that is taken over instead of classes, facts and options, with the order and its
  // seed: that of a data set whose records are read in their order. If it lists shards, each new
  // shard gets the record count of the old one; ConvertOptions::shard_bytes is ignored. Its split
  // must not be a training split, which could be shuffled. Null by default.
  [[nodiscard]] virtual const Manifest* manifest(size_t /*split*/) const { return nullptr; }
  // Columns of whole numbers whose sums over a split the user should know: the summary has them, of
  // the splits that have such columns. None by default.
  [[nodiscard]] virtual std::vector<std::string> totals() const;
  // What the user should know about what was found, one sentence each ("2 files were left out").
  // They may name options: with_option_names() (ffkit/base/option_names.h) shows them.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const;
  // Whether pictures are stored of which only the headers were looked at: the summary says so.
  // False by default.
  [[nodiscard]] virtual bool checks_headers_only() const { return false; }
  // Folders that are listed: the destination must not lie inside one of them. None by default.
  [[nodiscard]] virtual std::vector<std::filesystem::path> roots() const;

  // What a sample is, and the files that go into records beside the samples' own: a conversion that
  // goes on, and parts made on several machines, are refused when these are not what they were. By
  // default describe() with sample_bytes(), and no file.
  [[nodiscard]] virtual SampleIdentity identity(size_t split, int64_t index) const;
  [[nodiscard]] virtual std::vector<SourceInput> inputs(size_t split) const;

  // What read() sets as the field `id` of the sample's record, where the list tells it; nothing
  // where the record alone does, which is the default. By it samples are chosen
  // (ConvertOptions::only).
  [[nodiscard]] virtual std::optional<std::string> listed_id(size_t /*split*/,
                                                             int64_t /*index*/) const {
    return std::nullopt;
  }

  // Bytes that read() will bring into memory, or 0 when that is not known: batches of large samples
  // are then not kept small.
  [[nodiscard]] virtual int64_t sample_bytes(size_t split, int64_t index) const;
  // The one file in which the split's samples lie; empty when they are files of their own, or made.
  [[nodiscard]] virtual std::filesystem::path archive(size_t /*split*/) const { return {}; }
  // Orders the samples as they lie in archive(), front to back.
  [[nodiscard]] virtual int64_t position(size_t /*split*/, int64_t index) const { return index; }
  // Whether samples are to be read in the order of position(), since each is brought into memory
  // with those beside it: a conversion in another order then goes through temporary files. False by
  // default.
  [[nodiscard]] virtual bool reads_in_order() const { return false; }
  // The sample will be read soon: the disk may fetch it meanwhile. Does nothing by default.
  virtual void will_read(size_t /*split*/, int64_t /*index*/) const {}
  // Where the sample comes from, for messages: a file, or "archive.tar: member".
  [[nodiscard]] virtual std::string describe(size_t split, int64_t index) const = 0;
  // Sets the fields of sample `index` (0 .. num_samples-1) on `record`; what they point to lives in
  // `buffers`. Throws Error for a sample that cannot be read or is not what it claims to be.
  virtual void read(size_t split, int64_t index, RecordBuilder& record,
                    SampleBuffers& buffers) const = 0;
};

// What the records of `source` are called in messages: "pictures" where a record is one, else
// "records".
const char* record_noun(const Source& source);

}  // namespace ffkit
