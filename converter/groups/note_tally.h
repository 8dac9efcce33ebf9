// NoteTally: notes of many groups of files, of which most say the same with other numbers and
// names. The first of a kind is passed on as it is, the others are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace ffkit {

class NoteTally {
 public:
  // `note` may be empty, and must outlive this.
  explicit NoteTally(const std::function<void(const std::string&)>& note) : note_(note) {}

  // As if it had been passed on already.
  void know(const std::string& sentence);
  // Of one group.
  void add(const std::string& sentence);
  // Passes on of how many groups each was said, where they were several and that is news: it counts
  // something, or has had other words.
  void finish();

 private:
  struct Seen {
    std::string first;
    std::string last;
    int64_t num_groups = 0;
    bool has_numbers = false;
    bool has_other_words = false;
  };
  Seen& seen(const std::string& sentence, bool& is_new);

  const std::function<void(const std::string&)>& note_;
  std::map<std::string, Seen> seen_;  // by the sentence without quotes, paths and numbers
};

}  // namespace ffkit
