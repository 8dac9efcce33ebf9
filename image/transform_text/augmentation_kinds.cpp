#include "base/make_error.h"
#include "transform_text/text_kind.h"

namespace ffkit {
namespace {

// One augmentation, or several in brackets.
void read_augmentations(const TextPlace& place, const TextValue& value,
                        std::vector<Augmentation>& to) {
  const auto add = [&](const TextValue& one) {
    TextTransform made = make_text_transform(one);
    auto* augmentation = std::get_if<Augmentation>(&made);
    if (augmentation == nullptr) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} takes augmentations, such as ColorJitter; {} is none", place.transform,
                     quoted_text(one.source));
    }
    to.push_back(std::move(*augmentation));
  };
  if (value.kind == TextValue::Kind::call) return add(value);
  if (value.kind != TextValue::Kind::list) {
    refuse_text(place, value, "an augmentation, or several in brackets");
  }
  to.reserve(value.items.size());
  for (const TextValue& item : value.items) add(item);
}

template <typename Options>
TextMember<Options> text_augmentations() {
  return {.name = "augmentations",
          .read = [](const TextPlace& place, const TextValue& value,
                     Options& to) { read_augmentations(place, value, to.augmentations); },
          .is_required = true};
}

// A number, or "random".
TextMember<RandomErasing> value_of_erasing() {
  return {.name = "value",
          .read =
              [](const TextPlace& place, const TextValue& value, RandomErasing& to) {
                to.noise = value.kind == TextValue::Kind::string && value.text == "random";
                if (to.noise) return;
                double number = 0;
                if (value.kind == TextValue::Kind::string) {
                  refuse_text(place, value, "a number, or \"random\"");
                }
                read_text(place, value, number);
                to.value = static_cast<float>(number);
              },
          .show = [](const RandomErasing& from) { return show_text(double{from.value}); }};
}

void add_colors(std::vector<TextKind>& table) {
  table.push_back(
      text_kind<ColorJitter>("ColorJitter", {text_member<&ColorJitter::brightness>("brightness"),
                                             text_member<&ColorJitter::contrast>("contrast"),
                                             text_member<&ColorJitter::saturation>("saturation"),
                                             text_member<&ColorJitter::hue>("hue")}));
  table.push_back(text_kind<RandAugment>(
      "RandAugment", {text_member<&RandAugment::num_ops>("num_ops"),
                      text_member<&RandAugment::magnitude>("magnitude"),
                      text_member<&RandAugment::num_magnitude_bins>("num_magnitude_bins"),
                      text_member<&RandAugment::fill>("fill")}));
  table.push_back(text_kind<TrivialAugmentWide>(
      "TrivialAugmentWide",
      {text_member<&TrivialAugmentWide::num_magnitude_bins>("num_magnitude_bins"),
       text_member<&TrivialAugmentWide::fill>("fill")}));
  table.push_back(text_kind<AutoAugment>(
      "AutoAugment",
      {text_member<&AutoAugment::policy>("policy"), text_member<&AutoAugment::fill>("fill")}));
  table.push_back(text_kind<PhotoMetricDistortion>(
      "PhotoMetricDistortion",
      {text_member<&PhotoMetricDistortion::brightness_delta>("brightness_delta"),
       text_member<&PhotoMetricDistortion::contrast>("contrast"),
       text_member<&PhotoMetricDistortion::saturation>("saturation"),
       text_member<&PhotoMetricDistortion::hue_delta>("hue_delta")}));
}

void add_operations(std::vector<TextKind>& table) {
  table.push_back(text_kind<GaussianBlur>(
      "GaussianBlur", {text_member<&GaussianBlur::sigma>("sigma"),
                       text_member<&GaussianBlur::kernel_size>("kernel_size")}));
  table.push_back(
      text_kind<Solarize>("Solarize", {text_member<&Solarize::threshold>("threshold")}));
  table.push_back(text_kind<Posterize>("Posterize", {text_member<&Posterize::bits>("bits")}));
  table.push_back(text_kind<Equalize>("Equalize", {}));
  table.push_back(text_kind<AutoContrast>("AutoContrast", {}));
  table.push_back(text_kind<Grayscale>("Grayscale", {}));
  table.push_back(text_kind<Invert>("Invert", {}));
  table.push_back(text_kind<AdjustSharpness>("AdjustSharpness",
                                             {text_member<&AdjustSharpness::factor>("factor")}));
}

// Python's functions for Apply(p, Operation()). `members`: those of the operation that have no
// default here.
template <typename Operation>
void add_random(std::vector<TextKind>& table, std::string_view name, double p,
                const std::vector<TextMember<Operation>>& members = {}) {
  using Options = RandomOperation<Operation>;
  std::vector<TextMember<Options>> all;
  all.reserve(members.size() + 1);
  for (const TextMember<Operation>& member : members) {
    all.push_back({.name = member.name,
                   .read = [read = member.read](const TextPlace& place, const TextValue& value,
                                                Options& to) { read(place, value, to.operation); },
                   .is_required = true});
  }
  all.push_back(text_member<&Options::p>("p"));
  table.push_back(text_kind<Options>(name, std::move(all), {.p = p}));
}

void add_random_operations(std::vector<TextKind>& table) {
  add_random<Solarize>(table, "RandomSolarize", 0.5,
                       {text_member<&Solarize::threshold>("threshold")});
  add_random<Posterize>(table, "RandomPosterize", 0.5, {text_member<&Posterize::bits>("bits")});
  add_random<Equalize>(table, "RandomEqualize", 0.5);
  add_random<AutoContrast>(table, "RandomAutocontrast", 0.5);
  add_random<Grayscale>(table, "RandomGrayscale", 0.1);
  add_random<Invert>(table, "RandomInvert", 0.5);
  add_random<AdjustSharpness>(table, "RandomAdjustSharpness", 0.5,
                              {text_member<&AdjustSharpness::factor>("sharpness_factor")});
}

}  // namespace

void add_augmentation_kinds(std::vector<TextKind>& table) {
  add_colors(table);
  add_operations(table);
  table.push_back(text_kind<Apply>(
      "Apply",
      {required(text_member<&Apply::probability>("probability")), text_augmentations<Apply>()}));
  table.push_back(text_kind<OneOf>(
      "OneOf", {text_augmentations<OneOf>(), text_member<&OneOf::weights>("weights")}));
  add_random_operations(table);
  table.push_back(text_kind<RandomErasing>(
      "RandomErasing", {text_member<&RandomErasing::probability>("probability"),
                        text_pair<&RandomErasing::scale_min, &RandomErasing::scale_max>("scale"),
                        text_pair<&RandomErasing::ratio_min, &RandomErasing::ratio_max>("ratio"),
                        value_of_erasing()}));
}

}  // namespace ffkit
