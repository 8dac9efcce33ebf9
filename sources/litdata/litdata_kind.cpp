#include <ffkit/converter/source_kind.h>

#include "rows/row_source.h"

namespace ffkit {

SourceKind litdata_kind() {
  return {.name = "litdata",
          .description = "Chunks of LitData: a folder with index.json, or one of such folders",
          .example = "/data/imagenet-chunks /fast/imagenet",
          .options = make_source_options<RowSourceOptions<open_litdata>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 35};
}

}  // namespace ffkit
