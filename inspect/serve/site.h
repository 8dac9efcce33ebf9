// Site: what each address answers. Choice: the records that a request asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/text/tokenizer.h>

#include "draw/contact_sheet.h"
#include "duplicates/duplicate_search.h"
#include "http/server.h"
#include "serve/served_set.h"
#include "text/output.h"

namespace ffkit::serve {

// Choice: the records that a request asks for, in its order, told from columns alone.

// What the parameters of a request say; the design lists them.
struct ChoiceText {
  std::string where;
  std::string text;
  bool inside = false;  // `text` also within fields that have no column, and tokens
  std::vector<int64_t> labels;
  std::vector<std::pair<int64_t, int64_t>> records;  // first .. last; none: all of them
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
  // How many records could not be read, and so not be looked into.
  int64_t num_unread = 0;

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
  // The records of `split` that fulfil `text`. `duplicates` and `tokenizer` may be null. Throws
  // Error(invalid_argument), Error(not_found) for what the split does not have.
  std::shared_ptr<const Choice> get(const ServedSplit& split, const ChoiceText& text,
                                    const Duplicates* duplicates, const text::Tokenizer* tokenizer);

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

// The files of page/, which the build puts into the program.
struct PageFile {
  std::string_view name;  // "app.js"
  std::string_view content;
};
std::span<const PageFile> page_files();

// What the answers are made from. Thread-safe but for `set`, which does not change.
struct SiteState {
  ServedSet set;
  Choices choices;
  std::unique_ptr<DuplicateSearch> search;
  std::string page;  // index.html as it is sent, but for its nonce

  // Null until the search is done.
  [[nodiscard]] std::shared_ptr<const Duplicates> duplicates() const { return search->result(); }
  // The data set's tokenizer, read once. Throws Error(not_found) where there is none.
  const text::Tokenizer& tokenizer();
  // The records that the request chooses of `split`.
  std::shared_ptr<const Choice> choice(const ServedSplit& split, const ChoiceText& text);

 private:
  std::mutex mutex_;
  std::optional<text::Tokenizer> tokenizer_;
};

class Site {
 public:
  // `set` is served as it is; `hash_folder` is where hashes of duplicates are kept.
  Site(ServedSet set, const std::filesystem::path& hash_folder);

  // The answer to a request without its token. What is wrong with the request, and damaged records,
  // become answers too; it throws nothing but std::bad_alloc. Thread-safe.
  http::Response answer(const http::Request& request);

 private:
  SiteState state_;
};

// The answers, a function an address. Each throws Error for what is wrong with the request or the
// data; Site makes an answer of that. README.md lists their parameters.
http::Response json_response(const Json& json);
// Bytes that a browser may keep.
http::Response kept_response(std::string_view content_type, std::span<const std::byte> bytes);
// [{id, name}] of all classes; a class without a readable name has its identifier as name.
Json class_list(const Manifest& manifest);
// Adds class and class_name of a label; null for what there is not.
void add_class(const Manifest& manifest, int64_t label, Json& json);
// Null for what is no number.
Json number_or_null(double value);
// The value of a column in a record. Integers that a browser's numbers cannot hold are texts, and
// what is not finite is as json_number() has it.
Json value_json(const Column& column, int64_t record);
// What histograms there are of: "label" where there are classes, and columns of numbers.
std::vector<std::string> bars_of(const ServedSplit& split);
// Adds boxes, joints and key points of a record, and what was found in it.
void add_marks(const ServedSplit& split, int64_t number, const RecordView& record,
               SheetEntry& entry);

// set_answers.cpp: the set, and choices of its records.
http::Response answer_set(SiteState& state, const http::Request& request);
http::Response answer_find(SiteState& state, const http::Request& request);
http::Response answer_rows(SiteState& state, const http::Request& request);
http::Response answer_position(SiteState& state, const http::Request& request);
http::Response answer_list(SiteState& state, const http::Request& request);

// histogram.cpp: how many records have which values.
http::Response answer_histogram(SiteState& state, const http::Request& request);

// vectors.cpp: fields of vectors.
http::Response answer_map(SiteState& state, const http::Request& request);
http::Response answer_near(SiteState& state, const http::Request& request);

// record_answers.cpp: one record.
http::Response answer_record(SiteState& state, const http::Request& request);
http::Response answer_tokens(SiteState& state, const http::Request& request);

// picture_answers.cpp: pictures of one record.
http::Response answer_thumbnail(SiteState& state, const http::Request& request);
http::Response answer_picture(SiteState& state, const http::Request& request);
http::Response answer_mask(SiteState& state, const http::Request& request);
http::Response answer_view(SiteState& state, const http::Request& request);
http::Response answer_view_facts(SiteState& state, const http::Request& request);

// scene_answers.cpp: keyframes of nuScenes.
http::Response answer_scenes(SiteState& state, const http::Request& request);
http::Response answer_camera(SiteState& state, const http::Request& request);
http::Response answer_above(SiteState& state, const http::Request& request);

// result_answers.cpp: what was found, and what is there twice.
http::Response answer_confusion(SiteState& state, const http::Request& request);
http::Response answer_duplicates(SiteState& state, const http::Request& request);
http::Response answer_duplicates_start(SiteState& state, const http::Request& request);

// Fields of vectors: a map of them, and neighbours.

// Tensors of floating-point numbers that have one dimension in one of the first records.
std::vector<std::string> vector_fields(const ServedSplit& split);

}  // namespace ffkit::serve
