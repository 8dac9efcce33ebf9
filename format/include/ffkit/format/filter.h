// Filter: selects records of a data set by their columns (Dataset::where). A plain value.
//
//   label in {3, 7, 100..199} and (id != "n01440764/broken.JPEG" or not time >= 1.5e9)
//
// Conditions on fields with a column, joined by "and" and "or", of which "and" binds closer, with
// "not" before one and with brackets:
//   FIELD == VALUE    also != < <= > >=      numbers are compared as numbers, texts byte by byte
//   FIELD in {VALUE, FIRST..LAST, ...}       also "not in"; LAST is included
// Dataset::where() also knows the class of a record: class == 'tench', class in {n01440764, crane}.
// A VALUE is a number, nan, inf, a word, or a text in single or double quotes. A FIELD is a word; a
// name with blanks, quotes, brackets or signs, or that is a word of this language, stands in double
// quotes. Within quotes, the quote itself is written twice.
// A number is taken as the nearest one of the field's type: f == 0.1 finds the f32 that 0.1 became.
// Integers are exact. Null fields count as 0 or the empty text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/shard_reader.h>

namespace ffkit {

struct FilterCondition {
  enum class Op : uint8_t {
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in
  };
  struct Range {
    std::string first;
    std::string last;  // equal to `first` for a single value
  };

  std::string field;
  Op op = Op::equal;
  std::vector<Range> values;  // one for all but in and not_in
};

struct Filter {
  std::vector<FilterCondition> conditions;
  std::vector<Filter> parts;  // what stands in brackets
  bool is_any = false;        // one of all these must hold, else all must; none: every record
  bool is_negated = false;    // the others are wanted
};

// Parses the text form above; throws Error(invalid_argument) that names the wrong place.
Filter parse_filter(std::string_view text);
// The name of a field as that form has it: in double quotes where it must.
std::string filter_word(std::string_view field);

// The records of `shard` (ascending) that fulfil `filter`. Reads only columns. Throws
// Error(not_found) for a field without a column, Error(invalid_argument) for a value that its type
// cannot have.
std::vector<int64_t> matching_records(const ShardReader& shard, const Filter& filter);

// Record numbers from a text file: one or more per line, separated by blanks or commas; "#" begins
// a comment. Throws Error that names file and line.
std::vector<int64_t> read_index_file(const std::filesystem::path& path);

}  // namespace ffkit
