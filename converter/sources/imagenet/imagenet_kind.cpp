#include <array>
#include <string_view>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

#include "input/argument_values.h"

namespace ffkit {
namespace {

// clang-format off
constexpr std::array kImageNetParameters = {
    SourceParameter{.name = "splits", .help = "Splits to convert, such as train or train,val; default: all that are there", .type = SourceParameter::Type::text},
    SourceParameter{.name = "check-archives", .help = "First compares the MD5 sums of the archives with the official ones; reads all of them", .type = SourceParameter::Type::flag},
    SourceParameter{.name = "allow-partial", .help = "Takes the validation pictures that are there, and counts those that are not", .type = SourceParameter::Type::flag},
};
// clang-format on

void check_imagenet(const SourceArguments& a) {
  constexpr std::array<std::string_view, 3> kSplits = {"train", "val", "test"};
  require_names("splits", parse_names(a.text("splits")), kSplits);
}

std::unique_ptr<Source> open_imagenet_at(const SourceArguments& a) {
  return open_imagenet(a.path, {.splits = parse_names(a.text("splits")),
                                .check_archives = a.flag("check-archives"),
                                .allow_partial = a.flag("allow-partial"),
                                .images = a.images});
}

}  // namespace

// clang-format off
SourceKind imagenet_kind() {
  SourceKind kind{"imagenet", "ImageNet (ILSVRC2012): the official archives, extracted folders, or Kaggle's layout", "/data/imagenet /fast/imagenet", true, kImageNetParameters, open_imagenet_at, check_imagenet, true};
  kind.takes_exif = true;
  kind.place = 10;
  return kind;
}
// clang-format on

}  // namespace ffkit
