// Lists of names and labels: CSV, TSV, JSON, or text with a name and its label on each line.
//
//   image_id,label       file_name,text,class       {"file_name": "a.jpg", "label": ["x", "y"]}
//   1000015157,0         a.jpg,...,cat              /a/airfield/00000001.jpg 0
//   image,MEL,NV,BCC     and columns that hold only 0 and 1 are classes
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ffkit {

struct LabelColumns {
  std::string name;   // the column of names; empty: the one that is called so
  std::string label;  // the column of labels; empty: the one that is called so, or the other one
  bool is_multi = false;  // a cell may have several labels, and a name several lines
  bool has_split =
      false;  // it was said which split the list is; else a column of splits is refused
};

struct NamedLabels {
  std::string name;                 // of a picture, perhaps without its ending
  std::vector<std::string> labels;  // without is_multi one or, where the cell is empty, none
};

struct LabelList {
  std::vector<NamedLabels> lines;    // in the order of the file; each name once
  std::vector<std::string> classes;  // that columns are, in their order; empty: of other lists
};

// Lines of columns that are classes may have any number of labels. Throws Error(invalid_argument)
// for columns that are not there or that nothing tells, for a name that is there twice with
// different labels, and for lines that are none. Of OpenImages' lists, rows of confidence 0 give no
// label, which a note counts.
LabelList read_label_list(const std::filesystem::path& file, const LabelColumns& columns,
                          std::vector<std::string>& notes);

// Nothing for other text.
std::optional<int64_t> whole_number_of(const std::string& text);

// The classes of labels: the different ones, by value where all are whole numbers, else by name.
std::vector<std::string> classes_of_labels(const std::vector<NamedLabels>& lists);

}  // namespace ffkit
