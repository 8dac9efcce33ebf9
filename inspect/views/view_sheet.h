// Records in a contact sheet: their boxes and joints, and their views, where the pictures of a
// record stand beside each other.
#pragma once

#include <cstdint>
#include <vector>

#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>

#include "draw/contact_sheet.h"
#include "text/output.h"
#include "views/record_views.h"

namespace ffkit {

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
