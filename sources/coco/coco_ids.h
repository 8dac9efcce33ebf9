// Ids of COCO files: whole numbers, or texts, which Python's dictionaries take as well.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ffkit {

// The ids of one kind, "image_id" and the pictures' "id". All are numbers, which stand for
// themselves, or all are texts, which are numbered as they come. Not thread-safe while ids are
// taken.
class CocoIds {
 public:
  // The number that stands for the member `key`. Throws Error(invalid_argument) where it is absent,
  // neither a whole number of 64 bits nor a text, or of the other kind than those before.
  int64_t take(const simdjson::dom::object& object, std::string_view key);

  bool is_empty() const { return !has_numbers_ && texts_.empty(); }
  bool is_text() const { return !texts_.empty(); }
  // Of texts alone.
  const std::string& text(int64_t number) const { return texts_.at(static_cast<size_t>(number)); }
  // For messages and JSON: 7, or "a.jpg" with its quotes.
  std::string json(int64_t number) const;

 private:
  bool has_numbers_ = false;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, int64_t> number_of_;
};

}  // namespace ffkit
