#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/row_sources.h>

#include "rows/row_source.h"

namespace ffkit {

SourceKind beton_kind() {
  return {.name = "beton",
          .description = "FFCV: a .beton or .ffcv file, or a folder of them",
          .example = "/data/imagenet.beton /fast/imagenet",
          .options = make_source_options<RowSourceOptions<open_beton>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 57};
}

}  // namespace ffkit
