// Makes devkits: a meta.mat as ILSVRC2012's, through matio, and the folder around it.
#pragma once

#include <matio.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tar_builder.h"

namespace ffkit::testing {

struct MetaRow {
  double id = 0;
  std::string wnid;
  std::string words;
  double num_children = 0;
};

enum class MetaFlaw { none, other_table, no_wnid, id_is_text };

inline void write_meta_mat(const std::filesystem::path& path, const std::vector<MetaRow>& rows,
                           MetaFlaw flaw = MetaFlaw::none) {
  const char* fields[] = {"ILSVRC2012_ID", flaw == MetaFlaw::no_wnid ? "WNIX" : "WNID", "words",
                          "num_children"};
  size_t dims[2] = {rows.size(), 1};
  size_t one[2] = {1, 1};
  mat_t* mat = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  if (mat == nullptr) throw std::runtime_error("cannot create " + path.string());
  const char* name = flaw == MetaFlaw::other_table ? "synset" : "synsets";
  matvar_t* table = Mat_VarCreateStruct(name, 2, dims, fields, 4);
  const auto number = [&one](double value) {
    return Mat_VarCreate(nullptr, MAT_C_DOUBLE, MAT_T_DOUBLE, 2, one, &value, 0);
  };
  const auto text = [](std::string value) {
    size_t length[2] = {1, value.size()};
    return Mat_VarCreate(nullptr, MAT_C_CHAR, MAT_T_UINT8, 2, length, value.data(), 0);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    Mat_VarSetStructFieldByName(table, fields[0], i,
                                flaw == MetaFlaw::id_is_text ? text("one") : number(rows[i].id));
    Mat_VarSetStructFieldByName(table, fields[1], i, text(rows[i].wnid));
    Mat_VarSetStructFieldByName(table, fields[2], i, text(rows[i].words));
    Mat_VarSetStructFieldByName(table, fields[3], i, number(rows[i].num_children));
  }
  // Not compressed: matio 1.5.23 cannot read back a struct array that it has compressed.
  Mat_VarWrite(mat, table, MAT_COMPRESSION_NONE);
  Mat_VarFree(table);
  Mat_Close(mat);
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
  write_meta_mat(data / "meta.mat", three_classes());
}

}  // namespace ffkit::testing
