// Contact sheets: pictures in rows and columns with text under each.
//
//   | title                        |
//   | [picture] [picture] [crossed]|
//   |  #0 ...    #7 ...    #14 ... |
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <ffkit/format/dataset.h>
#include <ffkit/image/mask.h>

#include "draw/canvas.h"

namespace ffkit {

struct SheetOptions {
  int columns = 6;
  int size = 192;  // pixels: pictures are scaled to fit size x size
};

// A box of the picture's annotations, in its pixels.
struct SheetBox {
  double x = 0, y = 0, width = 0, height = 0;
  int64_t class_number = -1;   // chooses the colour
  std::string name;            // may be empty
  bool is_prediction = false;  // drawn in kPredictionColor
};

// A joint of a person, or the root of one, in the picture's pixels.
struct SheetPoint {
  enum class Kind { joint, hidden_joint, true_root, found_root };
  double x = 0, y = 0;
  Kind kind = Kind::joint;
};

struct SheetEntry {
  std::vector<std::byte> image;  // encoded
  std::vector<std::byte> mask;   // encoded, of the picture's size; its colours lie over the picture
  std::vector<std::string> lines;  // under the picture
  std::vector<SheetBox> boxes;     // drawn into the picture
  std::vector<SheetPoint> points;  // likewise, as crosses
  std::optional<SheetBox> crop;    // what is shown of the picture; all of it without
  // Why there is no picture; set by the caller, or by make_contact_sheet when it cannot be
  // decoded. It is written into a crossed box.
  std::string problem;
};

// Throws Error(invalid_argument) when so many entries, even without lines, would make a sheet of
// more than ImageDecoder::max_pixels() pixels. For entries that take long to make.
void check_sheet_size(const std::string& title, int64_t num_entries, const SheetOptions& options);

// Draws all entries, decoding on all threads. Throws Error(invalid_argument) when the sheet would
// have more than ImageDecoder::max_pixels() pixels.
Canvas make_contact_sheet(const std::string& title, std::vector<SheetEntry>& entries,
                          const SheetOptions& options);

// Draws the entry's picture alone, with its mask, boxes and points: made smaller until it fits
// `size` x `size`, its shape kept. Throws Error(corrupt) or Error(unsupported) where it cannot be
// decoded.
Canvas draw_entry(ImageDecoder& decoder, const SheetEntry& entry, int size);

// The number of a pixel of a mask.
int64_t mask_number(const MaskView& mask, int x, int y);

// The colour of a number as VOC has it: its bits, from the lowest on, are the highest bits of red,
// green and blue in turn.
Color color_of_mask(int64_t number);

// Results files of predicted classes beside a split, for a contact sheet.

// Predicted classes of a results file beside those of a split of labelled pictures.
class ClassResults {
 public:
  // Whether the file is one of predicted classes: its first line is an object with a record, a
  // class and a score.
  static bool can_be(const std::filesystem::path& file);

  // Reads fftrain's results, an object a line, of some records of `split`, a whole split. The truth
  // is the split's label where it has one, else the file's. Throws
  // Error(corrupt) naming the first line that is none, and Error(invalid_argument) where a record
  // or its id is not the split's.
  ClassResults(const Dataset& split, const std::filesystem::path& file);

  // Numbers of the records whose label is another class than was predicted, the most confident
  // first.
  std::vector<int64_t> wrong() const;

  // A line below the entry's picture: "found dog, 97.1 %". `json` gets found_class and score; null
  // for a record without a result.
  void add(int64_t record, SheetEntry& entry, nlohmann::ordered_json& json) const;

  struct Found {
    std::string name, label;  // identifiers of classes; label empty: not known
    double score = 0;
    double loss = std::numeric_limits<double>::quiet_NaN();
  };
  // Null for a record without a result.
  const Found* find(int64_t record) const;
  // All of them, by record.
  const std::unordered_map<int64_t, Found>& all() const { return found_; }
  // A sentence where labels of the file are not those of the split; else empty.
  std::string disagreement() const;

 private:
  int64_t num_other_labels_ = 0;
  std::unordered_map<std::string, std::string> readable_;  // names of classes by identifier
  std::vector<int64_t> records_;                           // in the order of the file
  std::unordered_map<int64_t, Found> found_;
};

}  // namespace ffkit
