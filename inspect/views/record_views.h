// The views of records as a Loader makes them: which are wanted, their pixels, masks, boxes and key
// points, and a sheet of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/image/geometry_steps.h>
#include <ffkit/image/image_info.h>
#include <ffkit/loader/view.h>

#include "draw/contact_sheet.h"
#include "text/output.h"

namespace ffkit {

// The views that the command line asks for: texts of transforms, with a name and copies or without,
// or the transforms of a training run, from its config.toml.
//
//   "RandomResizedCrop(224)"             the loader's default view, which draws the record's
//                                        numbers
//   "global*2: RandomResizedCrop(224)"   two pictures of a view with a name
struct WantedViews {
  std::vector<View> views;  // their outputs are bytes [H, W, 3] where the transform makes bytes
  // They are views of LoaderOptions; else the only one is the default view, called as image_field.
  bool are_named = false;
};

// Throws Error(invalid_argument) for several texts of which one has no name, for a name that is
// there twice, for no copies, and as parse_transforms() does.
WantedViews parse_view_texts(const std::vector<std::string>& texts, const std::string& image_field);

struct RunTransform {
  // What the network of a run of fftrain on pictures with labels sees, as a text of transforms
  // (training_transforms()), at the size of the last epochs.
  std::string text;
  // What the run does beside it, a sentence each: pictures of a batch are mixed, sizes grow.
  std::vector<std::string> left_out;
};

// An option that the file lacks has fftrain's default. Throws Error(not_found) without the file,
// Error(invalid_argument) for a file that is no such run's, and for values that fftrain refuses.
RunTransform transform_of_run(const std::filesystem::path& config);

// The same; warns on stderr of what is left out.
std::string shown_transform_of_run(const std::filesystem::path& config);

// The tensor of this field of a record, if it has one.
std::optional<TensorView> tensor_in(const Schema& schema, const RecordView& record,
                                    std::string_view field);

struct ViewRequest {
  std::string image_field;
  std::string mask_field;  // empty: no masks
  WantedViews wanted;
  uint64_t seed = 0;  // the loader's
  int64_t first_epoch = 0;
  int64_t num_epochs = 1;

  // Pictures of a record, over all epochs.
  [[nodiscard]] int64_t num_pictures() const;
};

// One picture of a record.
struct RecordPicture {
  struct Box {
    BoxEdges edges;  // in pixels of the view, within it
    int64_t label = -1;
  };
  struct Point {
    double x, y;
    double visibility;  // COCO's: 1 hidden, 2 visible
  };

  const View* view = nullptr;  // of the request
  int64_t copy = 0;
  int64_t epoch = 0;
  ImageSize size = 0;           // of the view; where that is padded, of the picture alone
  std::vector<uint8_t> pixels;  // [height, width, 3] RGB
  std::vector<int32_t> mask;    // [height, width]; empty without
  ViewMatrix geometry = {};
  std::optional<std::vector<Box>> boxes;  // those that are kept; nothing where records have none
  std::vector<Point> points;              // those that lie in the view
  std::string problem;                    // why it is missing
};

// The pictures of each record, by epoch, then by view, then by copy: num_pictures() each. They
// draw the random numbers of the record in the whole split. `records` are numbers in `dataset`;
// the first of them that can be read and has boxes says which boxes, key points and kind of mask
// there are. What is wrong with a record becomes its pictures' problem. Decodes on all threads.
// Throws Error(invalid_argument) for views that no Loader takes.
std::vector<std::vector<RecordPicture>> decode_views(const Dataset& dataset,
                                                     const std::vector<int64_t>& records,
                                                     const ViewRequest& request);

// Records in a contact sheet: their boxes and joints, and their views, where the pictures of a
// record stand beside each other.

// The boxes of a set made from COCO: `boxes` f32 [N, 4] as (x, y, width, height), with `labels` i64
// [N] where there are classes. None of other sets.
std::vector<SheetBox> marked_boxes(const Dataset& dataset, const RecordView& record);
// The joints of a record of a person: f32 [J, 3] as (x, y, visible). None of other sets.
std::vector<SheetPoint> marked_joints(const Schema& schema, const RecordView& record);
// The key points of all boxes of a set made from COCO: `keypoints` [N, K, 3] f32 or i64 as (x, y,
// v), without those that are not labelled (v = 0). None of other sets.
std::vector<SheetPoint> marked_keypoints(const Schema& schema, const RecordView& record);

// Pictures in a row, so that all of a record's stand in one. `columns`: as many as that, if they
// are given. Throws Error(invalid_argument) for fewer columns than a record has pictures.
int columns_of_views(const ViewRequest& request, int columns, bool are_given);

// Draws the view into the entry: its pixels, mask, boxes and points.
void draw_into(const Dataset& dataset, const RecordPicture& picture, SheetEntry& entry);

// Takes the place of each record's entry by one for each of its pictures, with the entry's lines
// and others that name view, copy and epoch, and adds `views` to its JSON. An entry with a problem
// has it in all of its pictures. `records`, `entries` and `samples` are by record. Throws as
// decode_views() does.
void show_views(const Dataset& dataset, const std::vector<int64_t>& records,
                const ViewRequest& request, std::vector<SheetEntry>& entries,
                std::vector<Json>& samples);

}  // namespace ffkit
