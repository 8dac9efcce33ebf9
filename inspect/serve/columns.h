// Columns: whole columns of a split, kept between requests as long as they take little memory.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ffkit/format/dataset.h>

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

}  // namespace ffkit::serve
