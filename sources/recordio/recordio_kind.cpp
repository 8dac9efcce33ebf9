#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/row_sources.h>

#include "rows/row_source.h"

namespace ffkit {

SourceKind recordio_kind() {
  return {.name = "recordio",
          .description =
              "RecordIO of MXNet: a .rec file, or a folder of them, with .idx and .lst beside",
          .example = "/data/imagenet-rec /fast/imagenet",
          .options = make_source_options<RowSourceOptions<open_recordio>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 56};
}

}  // namespace ffkit
