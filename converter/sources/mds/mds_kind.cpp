#include <ffkit/converter/registry.h>

#include "sources/rows/row_source.h"

namespace ffkit {

SourceKind mds_kind() {
  return {.name = "mds",
          .description =
              "MDS shards of MosaicML Streaming: a folder with index.json, or one of "
              "such folders",
          .example = "/data/imagenet-mds /fast/imagenet",
          .options = make_source_options<RowSourceOptions<open_mds>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 34};
}

}  // namespace ffkit
