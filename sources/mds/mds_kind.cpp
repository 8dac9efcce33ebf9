#include <ffkit/converter/source_kind.h>

#include "rows/row_source.h"

namespace ffkit {
namespace {

class MdsKindOptions final : public RowSourceOptions<open_mds, mds_files> {
 public:
  void describe(OptionTable& table) override {
    table.add("check-hashes", options_.check_hashes,
              "First compares the shards with the hashes in index.json; reads all of them");
    RowSourceOptions::describe(table);
  }
};

}  // namespace

SourceKind mds_kind() {
  return {.name = "mds",
          .description =
              "MDS shards of MosaicML Streaming: a folder with index.json, or one of "
              "such folders",
          .example = "/data/imagenet-mds /fast/imagenet",
          .options = make_source_options<MdsKindOptions>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 34};
}

}  // namespace ffkit
