#include <ffkit/sources/row_sources.h>

#include "rows/row_source.h"

namespace ffkit {

SourceKind tfrecord_kind() {
  return {.name = "tfrecord",
          .description =
              "TFRecord: files of tf.train.Example, of TensorFlow Datasets or others; gzip too",
          .example = "/data/imagenet-tfrecord /fast/imagenet --label-offset -1",
          .options = make_source_options<RowSourceOptions<open_tfrecord, tfrecord_files>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 31};
}

}  // namespace ffkit
