// The arrays of a loader's views, as fields of its batches.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ffkit/format/schema.h>
#include <ffkit/loader/field_decoder.h>
#include <ffkit/loader/loader_options.h>

#include "loader/batch/slab_layout.h"

namespace ffkit {

// All arrays that LoaderOptions ask for. Those behind `num_visible` are found by Batch::geometry()
// and Batch::source_sizes() alone.
struct BatchFields {
  std::vector<BatchField> fields;
  size_t num_visible = 0;
  size_t num_pictures = 0;  // the first ones: the views of the picture
  // Of the picture, then clips; their geometry is field num_visible + 1 + i.
  std::vector<std::string> views;
  std::vector<PaddedView> padded;
};

// Throws Error(invalid_argument) for options that do not fit together, and as the decoders of
// field_decoder.h do.
BatchFields batch_fields(const Schema& schema, const LoaderOptions& options);

// Lets decoders of one thread share the picture that they are views of. `scratch`: by field.
void share_views(std::span<const std::unique_ptr<FieldDecoder::Scratch>> scratch);

}  // namespace ffkit
