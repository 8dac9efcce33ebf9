#include <array>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kWebDatasetParameters = {
    SourceParameter{.name = "classes", .help = "Text file with one class name on each line; without it, labels have no names", .type = SourceParameter::Type::text},
    SourceParameter{.name = "allow-missing", .help = "Accepts samples that lack a member which others have: the field is null", .type = SourceParameter::Type::flag},
    SourceParameter{"max-sample-bytes", "Largest sample; a larger one counts as bad. Each thread holds one sample in memory", 1LL << 30, 1 << 10, 1LL << 40},
};
// clang-format on

std::unique_ptr<Source> open_webdataset_at(const SourceArguments& a) {
  return open_webdataset(a.path, {.classes = a.text("classes"),
                                  .allow_missing = a.flag("allow-missing"),
                                  .max_sample_bytes = a.number(kWebDatasetParameters[2]),
                                  .store = a.images.store,
                                  .exif = a.images.exif,
                                  .temporary_folder = a.temporary_folder,
                                  .cancel = a.cancel});
}

}  // namespace

// clang-format off
SourceKind webdataset_kind() {
  SourceKind kind{"webdataset", "WebDataset: a folder of tar files, or one tar file; compressed ones too", "/data/imagenet-wds /fast/imagenet", true, kWebDatasetParameters, open_webdataset_at};
  kind.takes_store = true;
  kind.takes_exif = true;
  kind.place = 30;
  return kind;
}
// clang-format on

}  // namespace ffkit
