// Makes devkits: a meta.mat as ILSVRC2012's, and the folder around it.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tar_builder.h"

namespace ffkit::testing {

struct MetaRow {
  double id = 0;
  std::string wnid;
  std::string words;
  double num_children = 0;
  std::u16string words16 = {};  // instead of `words`, unless it is empty
};

enum class MetaFlaw { none, other_table, no_wnid, id_is_text };

// The pieces of a MATLAB level 5 file: elements of {u32 type, u32 length, data}, filled up to a
// multiple of 8 bytes.
class MatWriter {
 public:
  static std::string element(uint32_t type, const std::string& data) {
    // As MATLAB does: up to four bytes go into the tag.
    if (!data.empty() && data.size() <= 4) {
      const auto length = static_cast<uint32_t>(data.size());
      return word(length << 16 | type) + data + std::string(4 - data.size(), '\0');
    }
    return word(type) + word(static_cast<uint32_t>(data.size())) + data +
           std::string((8 - data.size() % 8) % 8, '\0');
  }

  static std::string array(uint32_t class_number, uint32_t num_rows, uint32_t num_columns,
                           const std::string& name, const std::string& content) {
    return element(14, element(6, word(class_number) + word(0)) +
                           element(5, word(num_rows) + word(num_columns)) + element(1, name) +
                           content);
  }

  static std::string number(double value) {
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    // MATLAB keeps whole numbers in the smallest type that holds them.
    const bool is_small = value >= 0 && value < 256 && value == static_cast<int>(value);
    return array(
        6, 1, 1, "",
        is_small ? element(2, std::string(1, static_cast<char>(value))) : element(9, bytes));
  }

  static std::string text(const std::string& value) {
    return array(4, 1, static_cast<uint32_t>(value.size()), "", element(16, value));
  }

  // As MATLAB keeps texts that it cannot keep as bytes.
  static std::string text16(const std::u16string& value) {
    const std::string bytes(reinterpret_cast<const char*>(value.data()), 2 * value.size());
    return array(4, 1, static_cast<uint32_t>(value.size()), "", element(4, bytes));
  }

  static std::string word(uint32_t value) {
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  }
};

inline std::string meta_mat(const std::vector<MetaRow>& rows, MetaFlaw flaw = MetaFlaw::none) {
  constexpr size_t kNameBytes = 16;
  std::string names;
  for (std::string name : {"ILSVRC2012_ID", flaw == MetaFlaw::no_wnid ? "WNIX" : "WNID", "words",
                           "num_children", "children"}) {
    name.resize(kNameBytes, '\0');
    names += name;
  }
  std::string table =
      MatWriter::element(5, MatWriter::word(kNameBytes)) + MatWriter::element(1, names);
  for (const MetaRow& row : rows) {
    table += flaw == MetaFlaw::id_is_text ? MatWriter::text("one") : MatWriter::number(row.id);
    table += MatWriter::text(row.wnid);
    table += row.words16.empty() ? MatWriter::text(row.words) : MatWriter::text16(row.words16);
    table += MatWriter::number(row.num_children);
    table += MatWriter::array(6, 0, 0, "", MatWriter::element(9, ""));  // no number, no text
  }
  std::string header = "MATLAB 5.0 MAT-file, made for a test";
  header.resize(124, ' ');
  header += std::string("\0\1IM", 4);
  const char* name = flaw == MetaFlaw::other_table ? "synset" : "synsets";
  return header + MatWriter::array(2, static_cast<uint32_t>(rows.size()), 1, name, table);
}

// Three classes whose numbers are not in the order of their wnids, and a parent of theirs.
inline std::vector<MetaRow> three_classes() {
  return {{1, "n03000000", "chair, seat", 0},
          {2, "n01000000", "tench", 0},
          {3, "n02000000", "dog", 0},
          {4, "n00000001", "thing", 3}};
}

// folder/ILSVRC2012_devkit_t12/data/... with three_classes() and the given numbers as ground truth.
inline void write_devkit(const std::filesystem::path& folder, const std::string& ground_truth) {
  const auto data = folder / "ILSVRC2012_devkit_t12" / "data";
  write_file(data / "ILSVRC2012_validation_ground_truth.txt", ground_truth);
  write_file(data / "meta.mat", meta_mat(three_classes()));
}

}  // namespace ffkit::testing
