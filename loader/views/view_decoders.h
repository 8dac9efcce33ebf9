// Decoders of what a view shows and of what follows it.
#pragma once

#include <memory>
#include <string>

#include <ffkit/format/schema.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/view.h>

#include "views/view_set.h"

namespace ffkit {

using ViewSetPtr = std::shared_ptr<const ViewSet>;

// What has pixels: pictures of a view, further pictures, masks; and the geometry.
std::shared_ptr<const FieldDecoder> decode_view(const ViewSetPtr& set, size_t view);
// Fields are looked up in `schema`; throws as decode_image() does, and Error(invalid_argument) for
// options out of range.
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const PictureField& field);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const MaskField& field);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const PixelMaskField& field);
// [3, 3] f64, see ViewMatrix.
std::shared_ptr<const FieldDecoder> decode_geometry(const ViewSetPtr& set, size_t view);
// [2] i64: height and width of what the picture has of the view; see PadToLargest.
std::shared_ptr<const FieldDecoder> decode_picture_size(const ViewSetPtr& set, size_t view);
// [2] i64: height and width of the picture.
std::shared_ptr<const FieldDecoder> decode_source_size(ViewSetPtr set);

// Throws Error(invalid_argument) for augmentations that a picture which follows `leader`, the
// options of `view`, cannot have.
void refuse_moves_of_follower(const ImageOptions& follower, const ImageOptions& leader,
                              const std::string& view);

// Boxes, numbers of boxes, key points and masks of boxes, which follow a view. Throw
// Error(invalid_argument) for options out of range, and as Schema::require() does. `boxes` says
// which rows there are. Of a view with copies each copy has rows of its own.
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const BoxRowsField& field,
                                                      const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, ViewSetPtr set,
                                                      size_t view, const PointsField& field,
                                                      const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema, const ViewSetPtr& set,
                                                      size_t view, const InstanceMasksField& field,
                                                      const BoxesField& boxes);

}  // namespace ffkit
