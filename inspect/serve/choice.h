// Choice: the records that a request asks for, in its order, told from columns alone.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "serve/served_set.h"

namespace ffkit {
class Duplicates;
}

namespace ffkit::serve {

// What the parameters of a request say; the design lists them.
struct ChoiceText {
  std::string where;
  std::string text;
  std::vector<int64_t> labels;
  std::string only;
  std::optional<int64_t> truth;
  std::optional<int64_t> found;
  std::optional<int64_t> group;
  std::string sort = "record";
  bool descending = false;

  bool operator==(const ChoiceText&) const = default;
};
// Throws Error(invalid_argument) for a parameter that is none of these.
ChoiceText parse_choice(const http::Request& request);

class Choice {
 public:
  // `numbers`: null for the records 0 .. size - 1.
  Choice(int64_t size, bool is_reversed, std::shared_ptr<const std::vector<int64_t>> numbers)
      : size_(size), is_reversed_(is_reversed), numbers_(std::move(numbers)) {}

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] int64_t at(int64_t position) const {
    if (is_reversed_) position = size_ - 1 - position;
    return numbers_ ? (*numbers_)[static_cast<size_t>(position)] : position;
  }
  // Where the record stands.
  [[nodiscard]] std::optional<int64_t> position_of(int64_t record) const;
  [[nodiscard]] size_t num_bytes() const { return numbers_ ? 8 * numbers_->size() : 0; }

 private:
  int64_t size_;
  bool is_reversed_;
  std::shared_ptr<const std::vector<int64_t>> numbers_;
};

// Makes choices, and keeps the last ones. Thread-safe.
class Choices {
 public:
  // The records of `split` that fulfil `text`. `duplicates` may be null. Throws
  // Error(invalid_argument), Error(not_found) for what the split does not have.
  std::shared_ptr<const Choice> get(const ServedSplit& split, const ChoiceText& text,
                                    const Duplicates* duplicates);

 private:
  struct Kept {
    const ServedSplit* split;
    ChoiceText text;
    std::shared_ptr<const Choice> choice;
  };
  std::mutex mutex_;
  std::list<Kept> kept_;  // the last used first
};

// What records can be sorted by.
std::vector<std::string> orders_of(const ServedSplit& split);
// The columns that text is looked for in.
std::vector<std::string> searched_columns(const ServedSplit& split);

}  // namespace ffkit::serve
