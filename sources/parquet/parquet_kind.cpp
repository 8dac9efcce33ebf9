#include "converter/places/place.h"
#include "parquet/parquet_listing.h"
#include "rows/row_source.h"

namespace ffkit {

std::unique_ptr<Source> open_parquet(const std::filesystem::path& path, const RowOptions& options) {
  const PlacesListed listed;
  return make_row_source(list_parquet_rows(Place(path).path(), options), options);
}

FileListing parquet_files(const std::filesystem::path& path, const RowOptions& /*options*/) {
  const PlacesListed listed;
  return list_parquet_source(Place(path).path());
}

SourceKind parquet_kind() {
  return {.name = "parquet",
          .description =
              "parquet and Arrow: files of Hugging Face's datasets, or files with any columns",
          .example = "hf://datasets/ylecun/mnist/mnist /fast/mnist",
          .options = make_source_options<KindOptions<RowOptions, open_parquet, parquet_files>>,
          .pictures = PictureUse::store,
          .takes_exif = true,
          .place = 32};
}

}  // namespace ffkit
