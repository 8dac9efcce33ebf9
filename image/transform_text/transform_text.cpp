#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <ffkit/image/transform_text.h>

#include "base/make_error.h"
#include "transform_text/text_kind.h"

namespace ffkit {
namespace {

// Gathers the transforms of a text.
class OptionsOfText {
 public:
  void add(const TextValue& call) {
    TextTransform made = make_text_transform(call);
    std::visit([&](auto& one) { take(std::move(one), call); }, made);
  }

  ImageOptions finish(std::string_view text) && {
    if (scale_pad_) {
      options_.transform = *scale_pad_;
    } else if (steps_.empty()) {
      throw error_of(ErrorCode::invalid_argument,
                     "the text {} has no transform that gives a size; an example: "
                     "RandomResizedCrop(224)",
                     quoted_text(text));
    } else {
      options_.transform = transform_of_steps();
    }
    return std::move(options_);
  }

 private:
  void take(GeometryStep step, const TextValue& call) {
    refuse_beside_scale_pad(call);
    steps_.push_back(std::move(step));
  }
  void take(Compose compose, const TextValue& call) {
    if (compose.steps.empty()) {
      throw error_of(ErrorCode::invalid_argument, "{} has no steps", quoted_text(call.source));
    }
    for (GeometryStep& step : compose.steps) take(std::move(step), call);
    is_composed_ = true;
  }
  void take(const ScalePad& pad, const TextValue& call) {
    refuse_beside_scale_pad(call);
    if (!steps_.empty()) refuse_scale_pad(call);
    scale_pad_ = pad;
  }
  void take(Augmentation augmentation, const TextValue& /*call*/) {
    options_.augmentations.push_back(std::move(augmentation));
  }
  void take(const RandomErasing& erasing, const TextValue& call) {
    if (options_.erasing) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} is a second RandomErasing; a picture has one at most",
                     quoted_text(call.source));
    }
    options_.erasing = erasing;
  }

  void refuse_beside_scale_pad(const TextValue& call) const {
    if (scale_pad_) refuse_scale_pad(call);
  }
  [[noreturn]] static void refuse_scale_pad(const TextValue& call) {
    throw error_of(ErrorCode::invalid_argument,
                   "{} cannot stand beside another step of geometry: a ScalePad stands alone",
                   quoted_text(call.source));
  }

  // One that is a transform stands alone; others need a Compose around them.
  ImageTransform transform_of_steps() {
    std::optional<ImageTransform> alone;
    if (steps_.size() == 1 && !is_composed_) {
      std::visit(
          [&](const auto& step) {
            if constexpr (requires { alone.emplace(step); }) alone.emplace(step);
          },
          steps_.front());
    }
    return alone ? *std::move(alone) : ImageTransform(Compose{std::move(steps_)});
  }

  ImageOptions options_;
  std::vector<GeometryStep> steps_;
  bool is_composed_ = false;  // the text says so
  std::optional<ScalePad> scale_pad_;
};

}  // namespace

ImageOptions parse_transforms(std::string_view text) {
  OptionsOfText options;
  for (const TextValue& call : parse_text_values(text)) options.add(call);
  return std::move(options).finish(text);
}

std::vector<std::string> transform_signatures() {
  std::vector<std::string> signatures;
  signatures.reserve(text_kinds().size());
  std::vector<std::string> parameters;
  for (const TextKind& kind : text_kinds()) {
    parameters.clear();
    for (const TextParameter& parameter : kind.parameters) {
      parameters.push_back(parameter.is_required
                               ? std::string(parameter.name)
                               : fmt::format("{}={}", parameter.name, parameter.shown_default));
    }
    signatures.push_back(fmt::format("{}({})", kind.name, fmt::join(parameters, ", ")));
  }
  return signatures;
}

}  // namespace ffkit
