#include "imagenet/kaggle_lists.h"

#include <algorithm>
#include <vector>

#include "converter/input/source_error.h"
#include "imagenet/imagenet_classes.h"
#include "imagenet/lines.h"

namespace ffkit {
namespace {

constexpr size_t kMaxQuoted = 40;  // of a line, in messages

[[noreturn]] void bad_line(const std::string& origin, int64_t number, std::string_view line,
                           const std::string& what) {
  throw source_error(origin, ErrorCode::corrupt, "line {}: '{}' {}; download it from Kaggle again",
                     number, line.substr(0, kMaxQuoted), what);
}

// The first word of `text`, which is taken off with the spaces around it; empty at the end.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace

Synsets parse_synset_mapping(std::string_view text, const std::string& origin) {
  struct Class {
    std::string_view wnid;
    std::string_view words;
  };
  std::vector<Class> classes;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    const std::string_view wnid = line.substr(0, line.find(' '));
    const std::string_view words = line.substr(std::min(wnid.size() + 1, line.size()));
    if (!is_wnid(wnid) || words.empty()) {
      bad_line(origin, number, line, "is no wnid with its words (n01440764 tench, Tinca tinca)");
    }
    classes.push_back({wnid, words});
  });
  if (classes.empty()) {
    throw source_error(origin, ErrorCode::corrupt, "is empty; download it from Kaggle again");
  }
  std::ranges::sort(classes, {}, &Class::wnid);
  Synsets synsets;
  for (const Class& one : classes) {
    if (!synsets.wnids.empty() && synsets.wnids.back() == one.wnid) {
      throw source_error(origin, ErrorCode::corrupt,
                         "has class '{}' twice; download it from Kaggle again", one.wnid);
    }
    synsets.wnids.emplace_back(one.wnid);
    synsets.words.emplace_back(one.words);
  }
  return synsets;
}

std::map<std::string, int64_t> parse_val_solution(std::string_view text, const Synsets& synsets,
                                                  const std::string& origin) {
  std::map<std::string, int64_t> labels;
  bool has_heading = false;
  for_each_line(text, [&](std::string_view line, int64_t number) {
    if (number == 1) {
      has_heading = line == "ImageId,PredictionString";
      if (!has_heading) bad_line(origin, 1, line, "is not the heading ImageId,PredictionString");
      return;
    }
    const size_t comma = line.find(',');
    if (comma == 0 || comma == std::string_view::npos) {
      bad_line(origin, number, line, "is not a picture, a comma, and its boxes");
    }
    std::string_view boxes = line.substr(comma + 1);
    const std::string wnid(take_word(boxes));
    const int64_t label = synsets.label_of(wnid);
    if (label < 0) bad_line(origin, number, line, "does not name one of the classes");
    // Behind it the box, and more boxes with their classes.
    constexpr int kBoxWords = 5;
    int num_words = 1;
    for (std::string_view word = take_word(boxes); !word.empty(); word = take_word(boxes)) {
      const bool is_class = num_words++ % kBoxWords == 0;
      if (is_class && word != wnid) bad_line(origin, number, line, "has boxes of two classes");
    }
    if (!labels.emplace(line.substr(0, comma), label).second) {
      bad_line(origin, number, line, "names a picture for the second time");
    }
  });
  if (!has_heading) {
    throw source_error(origin, ErrorCode::corrupt, "is empty; download it from Kaggle again");
  }
  return labels;
}

}  // namespace ffkit
