#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <set>

#include <ffkit/format/filter.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "duplicates/duplicate_search.h"
#include "serve/served_set.h"
#include "serve/site.h"

namespace ffkit::serve {
namespace {

constexpr size_t kMaxChoiceBytes = size_t{512} << 20;
constexpr size_t kMaxChoices = 32;
constexpr double kSureScore = 0.5;

std::vector<int64_t> parse_numbers(const http::Request& request, const std::string& name) {
  std::vector<int64_t> numbers;
  const std::string text = request.text(name);
  for (const char* at = text.data(); at < text.data() + text.size();) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), number);
    const bool is_last = end == text.data() + text.size();
    if (error != std::errc() || (!is_last && *end != ',')) {
      throw error_of(ErrorCode::invalid_argument, "'{}' is '{}'; expected numbers with commas",
                     name, printable(text));
    }
    numbers.push_back(number);
    at = is_last ? end : end + 1;
  }
  return numbers;
}

// "1,5,9-12".
std::vector<std::pair<int64_t, int64_t>> parse_ranges(const http::Request& request,
                                                      const std::string& name) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  const std::string text = request.text(name);
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end; ++at) {
    int64_t first = -1;
    auto read = std::from_chars(at, end, first);
    int64_t last = first;
    if (read.ec == std::errc() && read.ptr < end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
    }
    const bool is_last = read.ptr == end;
    if (read.ec != std::errc() || first < 0 || last < first || (!is_last && *read.ptr != ',')) {
      throw error_of(ErrorCode::invalid_argument,
                     "'{}' is '{}'; expected numbers or ranges: 1,5,9-12", name, printable(text));
    }
    ranges.emplace_back(first, last);
    at = read.ptr;
  }
  return ranges;
}

std::optional<int64_t> parse_number(const http::Request& request, const std::string& name) {
  if (request.text(name).empty()) return std::nullopt;
  return request.required_number(name, -1, std::numeric_limits<int64_t>::max());
}

// `needle` is in lower case.
bool contains_folded(std::string_view text, std::string_view needle) {
  // Not std::ranges::search, which clang-tidy's clang does not compile.
  const auto is_same = [](char a, char b) { return lower_letter(a) == b; };
  return std::search(text.begin(), text.end(), needle.begin(), needle.end(), is_same) !=
             text.end() ||
         needle.empty();
}

// Keeps those of `numbers` for which `holds(record)`; its order stays. In pieces on all threads.
template <typename Holds>
void keep_if(std::vector<int64_t>& numbers, const Holds& holds) {
  std::vector<char> kept(numbers.size());
  tbb::parallel_for(tbb::blocked_range<size_t>(0, numbers.size(), 4096), [&](const auto& range) {
    for (size_t i = range.begin(); i < range.end(); ++i) kept[i] = holds(numbers[i]) ? 1 : 0;
  });
  size_t size = 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (kept[i] != 0) numbers[size++] = numbers[i];
  }
  numbers.resize(size);
}

// The classes whose identifier or name has the text.
std::set<int64_t> classes_with(const Manifest& manifest, std::string_view needle) {
  std::set<int64_t> labels;
  const auto add = [&](const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (contains_folded(names[i], needle)) labels.insert(static_cast<int64_t>(i));
    }
  };
  add(manifest.classes);
  add(manifest.class_names);
  return labels;
}

// Returns how many records could not be looked into.
int64_t keep_text(const ServedSplit& split, const ChoiceText& text,
                  const text::Tokenizer* tokenizer, std::vector<int64_t>& numbers) {
  std::string needle = text.text;
  std::ranges::transform(needle, needle.begin(), lower_letter);
  const std::set<int64_t> classes =
      split.has_labels() ? classes_with(split.whole().manifest(), needle) : std::set<int64_t>();
  std::shared_ptr<const Column> labels;
  if (!classes.empty()) labels = split.columns().get("label");
  std::vector<std::shared_ptr<const Column>> columns;
  for (const std::string& name : searched_columns(split)) {
    columns.push_back(split.columns().get(name));
  }
  std::atomic<int64_t> num_unread = 0;
  keep_if(numbers, [&](int64_t record) {
    if (labels && classes.contains(label_in(*labels, record))) return true;
    const bool is_in_columns = std::ranges::any_of(columns, [&](const auto& column) {
      return contains_folded(std::get<TextColumn>(*column).at(record), needle);
    });
    if (is_in_columns || !text.inside) return is_in_columns;
    try {
      const std::vector<std::string> texts = texts_inside(split, record, tokenizer);
      return std::ranges::any_of(
          texts, [&](const auto& inside) { return contains_folded(inside, needle); });
    } catch (const Error&) {
      ++num_unread;
      return false;
    }
  });
  return num_unread;
}

// What `only` says of two results: which of them is right.
struct BothRight {
  std::string_view only;
  bool first, second;
};
constexpr BothRight kBoth[] = {{"both", true, true},
                               {"first", true, false},
                               {"second", false, true},
                               {"neither", false, false}};

bool is_wanted(const std::optional<Finding>& finding, const std::string& only) {
  if (!finding) return false;
  if (only == "found") return true;
  if (!finding->is_right) return false;
  if (only == "right") return *finding->is_right;
  return !*finding->is_right && (only == "wrong" || finding->score >= kSureScore);
}

void keep_findings(const ServedSplit& split, const ChoiceText& text,
                   std::vector<int64_t>& numbers) {
  if (!split.findings) {
    throw error_of(ErrorCode::invalid_argument, "there are no results for the split '{}'",
                   split.name());
  }
  const Findings& findings = *split.findings;
  const auto* both = std::ranges::find(kBoth, text.only, &BothRight::only);
  if (both != std::end(kBoth)) {
    if (!split.others) {
      throw error_of(ErrorCode::invalid_argument, "there are no second results for the split '{}'",
                     split.name());
    }
    keep_if(numbers, [&](int64_t record) {
      const auto first = findings.find(record);
      const auto second = split.others->find(record);
      return first && second && first->is_right == both->first && second->is_right == both->second;
    });
  } else if (!text.only.empty()) {
    keep_if(numbers, [&](int64_t record) { return is_wanted(findings.find(record), text.only); });
  }
  if (text.found || text.truth) {
    keep_if(numbers, [&](int64_t record) {
      const auto finding = findings.find(record);
      return finding && finding->is_right && (!text.found || finding->found == *text.found) &&
             (!text.truth || finding->truth == *text.truth);
    });
  }
}

void keep_group(const ServedSplit& split, const Duplicates* duplicates, int64_t group,
                std::vector<int64_t>& numbers) {
  if (duplicates == nullptr || group < 0 || group >= std::ssize(duplicates->groups())) {
    throw error_of(ErrorCode::not_found, "there is no group {} of duplicates", group);
  }
  std::set<int64_t> records;
  for (const DuplicateRecord& record : duplicates->groups()[static_cast<size_t>(group)].records) {
    if (duplicates->splits()[static_cast<size_t>(record.split)].name == split.name()) {
      records.insert(record.record);
    }
  }
  keep_if(numbers, [&](int64_t record) { return records.contains(record); });
}

// A stable sort by `key`, what is unknown last, whichever direction.
template <typename Key>
void sort_by(std::vector<int64_t>& numbers, bool descending, const Key& key) {
  using Value = decltype(key(int64_t{}));
  std::vector<std::pair<Value, int64_t>> keyed;
  keyed.reserve(numbers.size());
  for (const int64_t record : numbers) keyed.emplace_back(key(record), record);
  const auto is_before = [&](const auto& a, const auto& b) {
    if constexpr (std::is_floating_point_v<Value>) {
      if (std::isnan(a.first) || std::isnan(b.first)) {
        return !std::isnan(a.first) && std::isnan(b.first);
      }
    }
    return descending ? b.first < a.first : a.first < b.first;
  };
  std::ranges::stable_sort(keyed, is_before);
  std::ranges::transform(keyed, numbers.begin(), [](const auto& item) { return item.second; });
}

void sort_records(const ServedSplit& split, const ChoiceText& text, std::vector<int64_t>& numbers) {
  const auto orders = orders_of(split);
  if (std::ranges::find(orders, text.sort) == orders.end()) {
    throw error_of(ErrorCode::invalid_argument, "records cannot be sorted by '{}'",
                   printable(text.sort));
  }
  const bool is_column = split.schema().index_of(text.sort) >= 0;
  if (!is_column && text.sort == "record") {
    if (text.descending) std::ranges::reverse(numbers);
  } else if (!is_column && text.sort == "size") {
    sort_by(numbers, text.descending, [&](int64_t record) {
      const auto bytes = stored_bytes_of(split, record);
      return bytes ? double(*bytes) : std::numeric_limits<double>::quiet_NaN();
    });
  } else if (!is_column) {
    sort_by(numbers, text.descending, [&](int64_t record) {
      const auto finding = split.findings->find(record);
      return finding ? value_of(*finding, text.sort) : std::numeric_limits<double>::quiet_NaN();
    });
  } else {
    std::visit(
        [&](const auto& values) {
          sort_by(numbers, text.descending, [&](int64_t record) {
            if constexpr (requires { values.ends; }) {
              return values.at(record);
            } else {
              return values[static_cast<size_t>(record)];
            }
          });
        },
        *split.columns().get(text.sort));
  }
}

std::vector<int64_t> numbers_in(std::vector<std::pair<int64_t, int64_t>> ranges,
                                int64_t num_records) {
  std::ranges::sort(ranges);
  std::vector<int64_t> numbers;
  int64_t next = 0;  // those before it are listed
  for (const auto& [first, last] : ranges) {
    for (next = std::max(first, next); next <= std::min(last, num_records - 1); ++next) {
      numbers.push_back(next);
    }
  }
  return numbers;
}

std::vector<int64_t> chosen_numbers(const ServedSplit& split, const std::string& where) {
  const Dataset dataset =
      where.empty() ? split.chosen() : split.chosen().where(parse_filter(where));
  std::vector<int64_t> numbers(static_cast<size_t>(dataset.num_records()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = dataset.index_in_split(static_cast<int64_t>(i));
  }
  return numbers;
}

Choice make_choice(const ServedSplit& split, const ChoiceText& text, const Duplicates* duplicates,
                   const text::Tokenizer* tokenizer) {
  // All records, as they are: however many there are, no list of them.
  const bool is_plain = text == ChoiceText{.descending = text.descending};
  if (is_plain && !split.chosen().is_subset()) {
    return {split.whole().num_records(), text.descending, nullptr};
  }
  std::vector<int64_t> numbers;
  if (!text.records.empty()) numbers = numbers_in(text.records, split.whole().num_records());
  if (text.records.empty() || !text.where.empty() || split.chosen().is_subset()) {
    std::vector<int64_t> listed = std::exchange(numbers, chosen_numbers(split, text.where));
    if (!text.records.empty()) {
      keep_if(numbers, [&](int64_t record) { return std::ranges::binary_search(listed, record); });
    }
  }
  if (!text.labels.empty()) {
    if (!split.has_labels()) {
      throw error_of(ErrorCode::invalid_argument, "the split '{}' has no column of labels",
                     split.name());
    }
    const auto labels = split.columns().get("label");
    std::set<int64_t> wanted(text.labels.begin(), text.labels.end());
    keep_if(numbers, [&](int64_t record) { return wanted.contains(label_in(*labels, record)); });
  }
  int64_t num_unread = 0;
  if (!text.text.empty()) num_unread = keep_text(split, text, tokenizer, numbers);
  if (!text.only.empty() || text.found || text.truth) keep_findings(split, text, numbers);
  if (text.group) keep_group(split, duplicates, *text.group, numbers);
  sort_records(split, text, numbers);
  const auto size = std::ssize(numbers);
  Choice choice(size, false, std::make_shared<const std::vector<int64_t>>(std::move(numbers)));
  choice.num_unread = num_unread;
  return choice;
}

}  // namespace

ChoiceText parse_choice(const http::Request& request) {
  ChoiceText choice;
  choice.where = request.text("where");
  choice.text = request.text("text");
  choice.inside = request.flag("inside") && !choice.text.empty();
  choice.labels = parse_numbers(request, "label");
  choice.records = parse_ranges(request, "records");
  choice.only = request.text("only");
  constexpr std::string_view kOnly[] = {"", "right", "wrong", "sure", "found"};
  if (std::ranges::find(kOnly, choice.only) == std::end(kOnly) &&
      std::ranges::find(kBoth, choice.only, &BothRight::only) == std::end(kBoth)) {
    throw error_of(ErrorCode::invalid_argument,
                   "'only' is '{}'; expected right, wrong, sure or found, or for two results both, "
                   "first, second or neither",
                   printable(choice.only));
  }
  choice.truth = parse_number(request, "truth");
  choice.found = parse_number(request, "found");
  choice.group = parse_number(request, "group");
  choice.sort = request.text("sort", "record");
  choice.descending = request.flag("descending");
  return choice;
}

std::optional<int64_t> Choice::position_of(int64_t record) const {
  if (!numbers_) {
    if (record < 0 || record >= size_) return std::nullopt;
    return is_reversed_ ? size_ - 1 - record : record;
  }
  const auto at = std::ranges::find(*numbers_, record);
  if (at == numbers_->end()) return std::nullopt;
  const int64_t position = at - numbers_->begin();
  return is_reversed_ ? size_ - 1 - position : position;
}

std::shared_ptr<const Choice> Choices::get(const ServedSplit& split, const ChoiceText& text,
                                           const Duplicates* duplicates,
                                           const text::Tokenizer* tokenizer) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = std::ranges::find_if(
        kept_, [&](const Kept& kept) { return kept.split == &split && kept.text == text; });
    if (at != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, at);
      return at->choice;
    }
  }
  auto choice = std::make_shared<const Choice>(make_choice(split, text, duplicates, tokenizer));
  // Another search has other groups; lists of records are many.
  if (text.group || !text.records.empty()) return choice;
  const std::lock_guard lock(mutex_);
  kept_.push_front({&split, text, choice});
  size_t total = 0;
  size_t count = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    total += kept->choice->num_bytes();
    const bool goes = kept != kept_.begin() && (total > kMaxChoiceBytes || ++count >= kMaxChoices);
    kept = goes ? kept_.erase(kept) : std::next(kept);
  }
  return choice;
}

std::vector<std::string> orders_of(const ServedSplit& split) {
  std::vector<std::string> orders = {"record", "size"};
  if (split.findings) {
    const auto own = split.findings->orders();
    orders.insert(orders.end(), own.begin(), own.end());
  }
  for (const Field& field : split.schema().fields) {
    // A column called "size" takes the place of the order.
    if (field.column && std::ranges::find(orders, field.name) == orders.end()) {
      orders.push_back(field.name);
    }
  }
  return orders;
}

std::vector<std::string> searched_columns(const ServedSplit& split) {
  std::vector<std::string> names;
  for (const Field& field : split.schema().fields) {
    if (field.type == FieldType::string && field.column) names.push_back(field.name);
  }
  return names;
}

}  // namespace ffkit::serve
