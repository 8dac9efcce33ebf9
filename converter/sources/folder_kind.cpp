#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

namespace ffkit {
namespace {

std::unique_ptr<Source> open_folder_at(const SourceArguments& a) {
  return open_image_folder(a.path, a.images);
}

}  // namespace

// clang-format off
SourceKind folder_kind() {
  SourceKind kind{"folder", "Folders of pictures: SRC/<split>/<class>/* or SRC/<class>/*", "my-pictures /fast/my-pictures", true, {}, open_folder_at, nullptr, true};
  kind.place = 20;
  return kind;
}
// clang-format on

}  // namespace ffkit
