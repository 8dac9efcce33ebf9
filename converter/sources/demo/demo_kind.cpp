#include <array>

#include <ffkit/converter/registry.h>
#include <ffkit/converter/sources.h>

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

}  // namespace

// clang-format off
SourceKind demo_kind() {
  SourceKind kind{"demo", "Made-up pictures that a model can learn, for trying things out", "/tmp/demo --classes 10 --images 2000", false, kDemoParameters, open_demo, nullptr, true};
  kind.place = 90;
  return kind;
}
// clang-format on

}  // namespace ffkit
