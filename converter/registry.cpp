#include <algorithm>
#include <array>
#include <span>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kDemoParameters = {
    SourceParameter{"classes", "Number of classes", 10, 2, 1152},
    SourceParameter{"images", "Number of training pictures", 2000, 1, 100'000'000},
    SourceParameter{"val-images", "Number of validation pictures; 0: no validation split", 500, 0, 100'000'000},
    SourceParameter{"size", "Width and height in pixels", 64, 16, 2048},
};
// clang-format on

std::unique_ptr<Source> open_demo(const SourceArguments& arguments) {
  const auto value = [&arguments](size_t i) { return arguments.number(kDemoParameters[i]); };
  return make_demo({.num_classes = value(0),
                    .num_train = value(1),
                    .num_val = value(2),
                    .size = value(3),
                    .seed = arguments.seed,
                    .images = arguments.images});
}

std::unique_ptr<Source> open_imagenet_at(const SourceArguments& a) {
  return open_imagenet(a.path, a.images);
}
std::unique_ptr<Source> open_folder_at(const SourceArguments& a) {
  return open_image_folder(a.path, a.images);
}

// clang-format off
constexpr std::array kKinds = {
    SourceKind{"imagenet", "ImageNet (ILSVRC2012): the official archives, or an extracted tree", "/data/imagenet /fast/imagenet", true, {}, open_imagenet_at, true},
    SourceKind{"folder", "Folders of pictures: SRC/<split>/<class>/* or SRC/<class>/*", "my-pictures /fast/my-pictures", true, {}, open_folder_at, true},
    SourceKind{"demo", "Generated pictures that a network can learn, for trying things out", "/tmp/demo --classes 10 --images 2000", false, kDemoParameters, open_demo, true},
};
// clang-format on

}  // namespace

int64_t SourceArguments::number(const SourceParameter& parameter) const {
  const auto found = numbers.find(parameter.name);
  return found == numbers.end() ? parameter.default_value : found->second;
}

bool SourceArguments::flag(const std::string& name) const {
  const auto found = flags.find(name);
  return found != flags.end() && found->second;
}

std::string SourceArguments::text(const std::string& name) const {
  const auto found = texts.find(name);
  return found == texts.end() ? "" : found->second;
}

std::span<const SourceKind> source_kinds() {
  return kKinds;
}

const SourceKind& source_kind(const std::string& name) {
  const auto found = std::ranges::find(kKinds, name, &SourceKind::name);
  if (found != kKinds.end()) return *found;
  std::string names;
  for (const SourceKind& kind : kKinds) names += std::string(names.empty() ? "" : ", ") + kind.name;
  throw Error(ErrorCode::not_found, "there is no source '" + name + "'; there are " + names);
}

}  // namespace ffkit
