// References between tables: tokens to row numbers, and what can be wrong with them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "converter/input/source_error.h"
#include "nuscenes/tables/json_rows.h"
#include "nuscenes/tables/tables.h"

namespace ffkit::nuscenes {

// One table that is being read: its file, and messages about its rows.
class TableFile {
 public:
  // `name`: "sample_data".
  TableFile(const fs::path& folder, const std::string& name) : path_(folder / (name + ".json")) {}

  const fs::path& path() const { return path_; }

  [[noreturn]] void refuse(const Token& row, const std::string& what) const {
    throw source_error(path_, ErrorCode::corrupt, "row {}: {}; {}", to_string(row), what,
                       kUnpackAgain);
  }

  // Files are looked for in the data set's folder only.
  void require_inside(const Token& row, std::string_view filename) const {
    const fs::path file(filename);
    const bool goes_up =
        std::ranges::any_of(file, [](const fs::path& part) { return part == ".."; });
    if (filename.empty() || file.is_absolute() || goes_up) {
      refuse(row,
             fmt::format("'filename' is '{}', but must be a file inside the folder of the data set",
                         filename));
    }
  }

  // The row of `to` that `token`, the member `key` of row `row`, names.
  Row resolve(const Token& row, const char* key, const Token& token, const Rows& to,
              const char* table) const {
    const Row found = to.index.find(token);
    if (found == kNoRow) {
      refuse(row, fmt::format("'{}' is '{}', but {}.json has no such token: a table is damaged or "
                              "belongs to another version",
                              key, to_string(token), table));
    }
    return found;
  }

  // The rows that prev or next name, kNoRow for none. Refuses circles.
  std::vector<Row> resolve_links(const Rows& rows, const char* key,
                                 const std::vector<Token>& links) const {
    std::vector<Row> result(links.size(), kNoRow);
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i].is_none()) continue;
      result[i] = rows.index.find(links[i]);
      if (result[i] == kNoRow) {
        refuse(rows.token[i], fmt::format("'{}' is '{}', but the table has no row with this token",
                                          key, to_string(links[i])));
      }
    }
    require_no_circle(rows, key, result);
    return result;
  }

  // Of rows that follow each other by prev and next: refuses one whose neighbour is of another
  // group, or earlier where it should be later. `group` and `time` give those of a row; `groups`:
  // what a group is called.
  template <typename Group, typename Time>
  void require_order(const Rows& rows, const std::vector<Row>& prev, const std::vector<Row>& next,
                     const char* groups, const Group& group, const Time& time) const {
    for (Row row = 0; row < rows.size(); ++row) {
      for (const bool is_next : {false, true}) {
        const Row other = is_next ? next[row] : prev[row];
        if (other == kNoRow) continue;
        const char* const key = is_next ? "next" : "prev";
        if (group(other) != group(row)) {
          refuse(rows.token[row],
                 fmt::format("'{}' is '{}', but the row with this token belongs to another {}", key,
                             to_string(rows.token[other]), groups));
        }
        if (is_next ? time(other) < time(row) : time(other) > time(row)) {
          refuse(rows.token[row],
                 fmt::format("'{}' is '{}', but the row with this token is {} than this row", key,
                             to_string(rows.token[other]), is_next ? "earlier" : "later"));
        }
      }
    }
  }

  // Reads the tokens into `rows`. Calls take(token, what make(JsonRow) returned) for each row, as
  // read_rows(). Refuses a token that is twice.
  template <typename Make, typename Take>
  void read(Rows& rows, const Make& make, const Take& take) const {
    using Made = std::pair<Token, std::invoke_result_t<const Make&, const JsonRow&>>;
    read_rows<Made>(
        path_,
        [&](const JsonRow& row) {
          return Made{row.token("token"), make(row)};
        },
        [&](Made made) {
          rows.token.push_back(made.first);
          take(made.first, std::move(made.second));
        });
    rows.index = TokenIndex(rows.token);
    if (const Row twice = rows.index.repeated(); twice != kNoRow) {
      refuse(rows.token[twice], "the token appears twice in the table");
    }
  }

 private:
  void require_no_circle(const Rows& rows, const char* key, const std::vector<Row>& links) const {
    enum : uint8_t { kNew, kOnWay, kDone };
    std::vector<uint8_t> state(links.size(), kNew);
    for (Row begin = 0; begin < links.size(); ++begin) {
      Row row = begin;
      for (; row != kNoRow && state[row] == kNew; row = links[row]) state[row] = kOnWay;
      if (row != kNoRow && state[row] == kOnWay) {
        refuse(rows.token[row],
               fmt::format("the chain of '{}' tokens from this row comes back to this row", key));
      }
      for (row = begin; row != kNoRow && state[row] == kOnWay; row = links[row]) state[row] = kDone;
    }
  }

  fs::path path_;
};

// What nuScenes' tables say of boxes: category, instance, attribute, sample_annotation.

// Reads them into `tables`, whose samples must be there. Throws as read_tables().
void read_annotation_tables(const fs::path& folder, Tables& tables);

}  // namespace ffkit::nuscenes
