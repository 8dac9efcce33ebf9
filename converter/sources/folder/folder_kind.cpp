#include <array>
#include <string_view>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

#include "input/argument_values.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kFolderParameters = {
    SourceParameter{.name = "splits", .help = "Splits to convert, such as train or train,val; folders of other names may be named too; default: all that are there", .type = SourceParameter::Type::text},
    SourceParameter{.name = "classes-from", .help = "train: classes are those of the training split, and another one in val is an error; all: those of all splits. Default: train", .type = SourceParameter::Type::text},
};
// clang-format on

void check_folder(const SourceArguments& a) {
  const std::vector<std::string> splits = parse_names(a.text("splits"));
  require_names("splits", splits, splits);
  constexpr std::array<std::string_view, 2> kFrom = {"train", "all"};
  const std::string from = a.text("classes-from");
  if (!from.empty()) require_names("classes-from", {from}, kFrom);
}

std::unique_ptr<Source> open_folder_at(const SourceArguments& a) {
  return open_image_folder(a.path, {.splits = parse_names(a.text("splits")),
                                    .classes_from_all = a.text("classes-from") == "all",
                                    .images = a.images});
}

}  // namespace

// clang-format off
SourceKind folder_kind() {
  SourceKind kind{"folder", "Folders of pictures: SRC/<split>/<class>/* or SRC/<class>/*", "my-pictures /fast/my-pictures", true, kFolderParameters, open_folder_at, check_folder, true};
  kind.takes_exif = true;
  kind.place = 20;
  return kind;
}
// clang-format on

}  // namespace ffkit
