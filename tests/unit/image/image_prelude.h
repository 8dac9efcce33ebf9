// What most tests of pictures start with.
#pragma once

#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "encode_for_test.h"
#include "test_images.h"
#include "test_prelude.h"
#include "views/picture_views.h"

namespace ffkit {

using testing::encode_jpeg_as;
using testing::encode_png_as;
using testing::JpegKind;
using testing::make_picture;
using testing::Picture;

}  // namespace ffkit
