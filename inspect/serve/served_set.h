// ServedSet: the data set that is looked at, opened once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ffkit/format/dataset.h>

#include "http/message.h"
#include "serve/findings.h"
#include "views/wanted_views.h"

namespace ffkit::serve {

// Texts behind each other: a million of them are two pieces of memory.
struct TextColumn {
  std::string bytes;
  std::vector<size_t> ends;

  [[nodiscard]] std::string_view at(int64_t record) const {
    const size_t begin = record == 0 ? 0 : ends[static_cast<size_t>(record) - 1];
    return std::string_view(bytes).substr(begin, ends[static_cast<size_t>(record)] - begin);
  }
};

using Column = std::variant<std::vector<int64_t>, std::vector<double>, TextColumn>;

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

// The number of a record in a column of numbers; 0 of one of texts.
double number_in(const Column& column, int64_t record);

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
  RunTransform run;  // of --config

  // What is shown first: the split of the results, else one with pictures, scenes or tokens.
  [[nodiscard]] const ServedSplit& first_split() const;
  // The split of the parameter 'split'. Throws Error(not_found).
  [[nodiscard]] const ServedSplit& split_of(const http::Request& request) const;
  // The record of the parameter 'record'. Throws Error(invalid_argument) for one that there is not.
  [[nodiscard]] static int64_t record_of(const ServedSplit& split, const http::Request& request);
};

// The field of the parameter `name`, or `otherwise` where it is not sent. Throws Error(not_found).
size_t field_of(const ServedSplit& split, const http::Request& request, const std::string& name,
                std::optional<size_t> otherwise);

// Reads the results file into the split that it belongs to. Throws Error(invalid_argument) where it
// belongs to none of them, or to several.
void read_results(ServedSet& set, const std::filesystem::path& file);

}  // namespace ffkit::serve
