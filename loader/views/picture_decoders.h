// Decoders of what has pixels: pictures of a view, further pictures, masks; and the geometry.
#pragma once

#include <memory>
#include <string>

#include <ffkit/format/schema.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/view.h>

#include "views/view_set.h"

namespace ffkit {

using ViewSetPtr = std::shared_ptr<const ViewSet>;

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

}  // namespace ffkit
