// What most tests of sources start with.
#pragma once

#include <ffkit/converter/convert.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/record.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/sources/row_sources.h>

#include "pictures.h"
#include "record_of.h"
#include "tar_builder.h"
#include "test_prelude.h"

namespace ffkit {

using testing::fields_of;
using testing::jpeg_picture;
using testing::record_of;
using testing::TarBuilder;
using testing::text_of;
using testing::values_of;

}  // namespace ffkit
