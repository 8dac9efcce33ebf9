// Decoders of boxes, of numbers of boxes and of key points, which follow a view.
#pragma once

#include <memory>

#include <ffkit/format/schema.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/view.h>

#include "views/view_set.h"

namespace ffkit {

// Throw Error(invalid_argument) for options out of range, and as Schema::require() does. `boxes`
// says which rows there are. Of a view with copies each copy has rows of its own.
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema,
                                                      std::shared_ptr<const ViewSet> set,
                                                      size_t view, const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema,
                                                      std::shared_ptr<const ViewSet> set,
                                                      size_t view, const BoxRowsField& field,
                                                      const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema,
                                                      std::shared_ptr<const ViewSet> set,
                                                      size_t view, const PointsField& field,
                                                      const BoxesField& boxes);
std::shared_ptr<const FieldDecoder> decode_view_field(const Schema& schema,
                                                      const std::shared_ptr<const ViewSet>& set,
                                                      size_t view, const InstanceMasksField& field,
                                                      const BoxesField& boxes);

}  // namespace ffkit
