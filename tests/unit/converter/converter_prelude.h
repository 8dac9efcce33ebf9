// What most tests of conversions start with.
#pragma once

#include <ffkit/converter/convert.h>
#include <ffkit/converter/merge.h>
#include <ffkit/format/dataset.h>
#include <ffkit/format/dataset_writer.h>
#include <ffkit/sources/folder.h>

#include "fake_source.h"
#include "pictures.h"
#include "tar_builder.h"
#include "test_prelude.h"

namespace ffkit {

using testing::FakeSource;
using testing::files_of;
using testing::jpeg_picture;
using testing::TarBuilder;

}  // namespace ffkit
