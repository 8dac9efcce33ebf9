// ServedSet: the data set that is looked at, opened once, and what was found in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ffkit/format/dataset.h>

#include "draw/contact_sheet.h"
#include "http/server.h"
#include "scenes/scene_view.h"
#include "views/record_views.h"

namespace ffkit::text {
class Tokenizer;
}

namespace ffkit::serve {

// Findings: what a results file says of the records of a split, whatever network wrote it.

// What was found in one record.
struct Finding {
  int64_t found = -1;            // the class; -1: one that the set does not know
  int64_t truth = -1;            // the same
  std::string found_name;        // the class as the file has it
  std::optional<bool> is_right;  // nothing: the truth is not known
  double score = std::numeric_limits<double>::quiet_NaN();
  double loss = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::quiet_NaN();  // how bad it is, by error_name()
};

// Thread-safe.
class Findings {
 public:
  virtual ~Findings() = default;

  // "classes", "scenes", "roots" or "detections".
  [[nodiscard]] virtual std::string_view kind() const = 0;
  // The orders that records have by it: "score", "loss", "mistakes", "distance".
  [[nodiscard]] virtual std::vector<std::string> orders() const { return {error_name()}; }
  // What Finding::error is: one of orders(), or "" where there is none.
  [[nodiscard]] virtual std::string error_name() const = 0;
  // Identifiers of the classes where the file alone has them; else empty.
  [[nodiscard]] virtual std::vector<std::string> classes() const { return {}; }
  // What the user should know about the file; or empty.
  [[nodiscard]] virtual std::string note() const { return ""; }
  // Nothing for a record that the file says nothing of.
  [[nodiscard]] virtual std::optional<Finding> find(int64_t record) const = 0;
  // Draws what was found beside the truth: boxes, roots.
  virtual void mark(int64_t /*record*/, SheetEntry& /*entry*/) const {}
  // Of a keyframe of nuScenes: the boxes that were found.
  [[nodiscard]] virtual std::vector<SeenBox> scene_boxes(int64_t) const { return {}; }
};

// Reads `file` as the results of `split`, a whole one, whose kind says what file it is. Throws
// Error(invalid_argument) for a file that belongs to no such split, and what the readers of the
// formats throw.
std::unique_ptr<Findings> read_findings(const Dataset& split, const std::filesystem::path& file);

// The value of a finding that `order` sorts by; NaN where there is none.
double value_of(const Finding& finding, std::string_view order);

// Texts behind each other: a million of them are two pieces of memory.
struct TextColumn {
  std::string bytes;
  std::vector<size_t> ends;

  [[nodiscard]] std::string_view at(int64_t record) const {
    const size_t begin = record == 0 ? 0 : ends[static_cast<size_t>(record) - 1];
    return std::string_view(bytes).substr(begin, ends[static_cast<size_t>(record)] - begin);
  }
};

using Column =
    std::variant<std::vector<int64_t>, std::vector<uint64_t>, std::vector<double>, TextColumn>;

// Whole columns of a split, kept between requests as long as they take little memory. Thread-safe.
class Columns {
 public:
  // `split`: a whole one.
  explicit Columns(Dataset split) : split_(std::move(split)) {}

  // The column of a field. Throws Error(not_found) for a field without one.
  std::shared_ptr<const Column> get(const std::string& field);
  // The same where it is in memory already, else null.
  std::shared_ptr<const Column> get_if_kept(const std::string& field);

 private:
  struct Kept {
    std::string field;
    std::shared_ptr<const Column> column;
    size_t num_bytes = 0;
  };

  const Dataset split_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // the last used first
};

// The label of a record in a column of integers.
int64_t label_in(const Column& column, int64_t record);

// A split, or the records of it that --where and --indices choose. Numbers of records are those of
// the whole split.
class ServedSplit {
 public:
  explicit ServedSplit(const Dataset& chosen);

  [[nodiscard]] const std::string& name() const { return whole_.manifest().split; }
  [[nodiscard]] const Dataset& whole() const { return whole_; }
  [[nodiscard]] const Dataset& chosen() const { return chosen_; }
  [[nodiscard]] const Schema& schema() const { return whole_.schema(); }
  // "pictures", "scenes", "persons", "tokens" or "records".
  [[nodiscard]] std::string_view kind() const { return kind_; }
  [[nodiscard]] const std::vector<size_t>& picture_fields() const { return picture_fields_; }
  // Whether the records have a label in a column, and classes.
  [[nodiscard]] bool has_labels() const { return has_labels_; }
  // Whether boxes, joints or key points can be drawn on the pictures.
  [[nodiscard]] bool has_marks() const;
  // The field that names a record: "id", or the first column of strings; -1: none.
  [[nodiscard]] int id_field() const { return id_field_; }
  Columns& columns() const { return *columns_; }

  // Null unless there are results, and they are this split's.
  std::shared_ptr<const Findings> findings;
  std::shared_ptr<const Findings> others;  // of a second file

 private:
  Dataset whole_;
  Dataset chosen_;
  std::string_view kind_;
  std::vector<size_t> picture_fields_;
  bool has_labels_ = false;
  int id_field_ = -1;
  std::shared_ptr<Columns> columns_;
};

struct ServedSet {
  std::string path;
  std::vector<ServedSplit> splits;
  std::string results_file;
  std::string others_file;  // of a second network
  RunTransform run;         // of --config

  // What is shown first: the split of the results, else one with pictures, scenes or tokens.
  [[nodiscard]] const ServedSplit& first_split() const;
  // The split of the parameter 'split'. Throws Error(not_found).
  [[nodiscard]] const ServedSplit& split_of(const http::Request& request) const;
  // The record of the parameter 'record'. Throws Error(invalid_argument) for one that there is not.
  [[nodiscard]] static int64_t record_of(const ServedSplit& split, const http::Request& request);
};

// Bytes of a record in its shard; nothing where the index is damaged there.
std::optional<int64_t> stored_bytes_of(const ServedSplit& split, int64_t record);

// The field of the parameter `name`, or `otherwise` where it is not sent. Throws Error(not_found).
size_t field_of(const ServedSplit& split, const http::Request& request, const std::string& name,
                std::optional<size_t> otherwise);

// Reads the results file into the split that it belongs to. Throws Error(invalid_argument) where it
// belongs to none of them, or to several.
void read_results(ServedSet& set, const std::filesystem::path& file);
// The same for a second file, to compare: both must have classes of the same split.
void read_other_results(ServedSet& set, const std::filesystem::path& file);

// What a record holds as text beyond its columns.

// The fields that texts_inside() reads; with tokens, which need a tokenizer, their name.
std::vector<std::string> fields_with_texts(const ServedSplit& split);

// The strings of a record, its lists of strings, and its tokens as one text where there is a
// tokenizer. Throws what reading the record throws.
std::vector<std::string> texts_inside(const ServedSplit& split, int64_t record,
                                      const text::Tokenizer* tokenizer);

// Tokens as text: pieces of whole characters, each with how many tokens it is of. Bytes that are no
// UTF-8 are replaced.
struct TokenPiece {
  std::string text;
  int64_t num_tokens = 0;
};
std::vector<TokenPiece> token_pieces(const std::vector<uint32_t>& ids,
                                     const text::Tokenizer& tokenizer);

}  // namespace ffkit::serve
