#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "converter/input/source_error.h"
#include "imagenet/devkit.h"
#include "imagenet/mat_file.h"

namespace ffkit {
namespace {

[[noreturn]] void bad_meta(const std::string& origin, const std::string& message) {
  throw source_error(origin, ErrorCode::corrupt,
                     "{}; is it ILSVRC2012's meta.mat? Get the devkit again", message);
}

class SynsetTable {
 public:
  SynsetTable(const MatTable& table, const std::string& origin) : table_(table), origin_(origin) {}

  int64_t integer(const char* field, size_t row) const {
    const auto* number = std::get_if<double>(&cell(field, row));
    if (number == nullptr || !(*number >= 0 && *number < 1e9) || *number != std::floor(*number)) {
      bad_meta(origin_, fmt::format("row {}: '{}' is not a number", row + 1, field));
    }
    return static_cast<int64_t>(*number);
  }

  const std::string& text(const char* field, size_t row) const {
    const auto* text = std::get_if<std::string>(&cell(field, row));
    if (text == nullptr) bad_meta(origin_, fmt::format("row {}: '{}' is not text", row + 1, field));
    return *text;
  }

 private:
  const MatCell& cell(const char* field, size_t row) const {
    const auto column = std::ranges::find(table_.columns, field);
    if (column == table_.columns.end()) bad_meta(origin_, fmt::format("has no '{}'", field));
    const auto index = static_cast<size_t>(column - table_.columns.begin());
    return table_.cells[row * table_.columns.size() + index];
  }

  const MatTable& table_;
  const std::string& origin_;
};

struct Leaf {
  std::string wnid;
  std::string words;
  int64_t id = 0;
};

}  // namespace

Synsets parse_meta_mat(std::span<const std::byte> bytes, const std::string& origin) {
  const MatTable rows = read_mat_table(bytes, "synsets", origin);
  const SynsetTable table(rows, origin);
  std::vector<Leaf> leaves;
  for (size_t row = 0; row < rows.num_rows(); ++row) {
    if (table.integer("num_children", row) != 0) continue;
    leaves.push_back({.wnid = table.text("WNID", row),
                      .words = table.text("words", row),
                      .id = table.integer("ILSVRC2012_ID", row)});
  }
  if (leaves.empty()) bad_meta(origin, "has no class without children");
  std::ranges::sort(leaves, {}, &Leaf::wnid);

  Synsets synsets;
  for (Leaf& leaf : leaves) {
    const auto label = std::ssize(synsets.wnids);
    const bool is_new_id = synsets.label_of_id.emplace(leaf.id, label).second;
    if (!is_new_id || (label > 0 && synsets.wnids.back() == leaf.wnid)) {
      bad_meta(origin, fmt::format("has class '{}' or its number {} twice", leaf.wnid, leaf.id));
    }
    synsets.wnids.push_back(std::move(leaf.wnid));
    synsets.words.push_back(std::move(leaf.words));
  }
  return synsets;
}

}  // namespace ffkit
