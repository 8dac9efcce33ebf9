#include <algorithm>

#include "base/make_error.h"
#include "transform_text/text_kind.h"

namespace ffkit {
namespace {

// 0 stands for None.
template <auto member>
TextMember<OwnerOf<member>> text_or_none(std::string_view name) {
  using Options = OwnerOf<member>;
  return {
      .name = name,
      .read =
          [](const TextPlace& place, const TextValue& value, Options& to) {
            to.*member = 0;
            if (value.kind != TextValue::Kind::none) read_text(place, value, to.*member);
          },
      .show =
          [](const Options& from) { return from.*member == 0 ? "None" : show_text(from.*member); }};
}

void read_steps(const TextPlace& place, const TextValue& value, Compose& to) {
  if (value.kind != TextValue::Kind::list) refuse_text(place, value, "[STEP, STEP, ...]");
  to.steps.reserve(value.items.size());
  for (const TextValue& item : value.items) {
    TextTransform made = make_text_transform(item);
    auto* step = std::get_if<GeometryStep>(&made);
    if (step == nullptr) {
      throw error_of(ErrorCode::invalid_argument,
                     "{} is no step of a Compose; expected a crop, a resize, a flip or another "
                     "step of geometry, such as RandomRotation",
                     quoted_text(item.source));
    }
    to.steps.push_back(std::move(*step));
  }
}

void add_crops(std::vector<TextKind>& table) {
  table.push_back(text_kind<RandomResizedCrop>(
      "RandomResizedCrop",
      {text_member<&RandomResizedCrop::size>("size"),
       text_pair<&RandomResizedCrop::scale_min, &RandomResizedCrop::scale_max>("scale"),
       text_pair<&RandomResizedCrop::ratio_min, &RandomResizedCrop::ratio_max>("ratio"),
       text_member<&RandomResizedCrop::flip_probability>("flip_probability"),
       text_member<&RandomResizedCrop::scaled_decode>("scaled_decode"),
       text_member<&RandomResizedCrop::interpolation>("interpolation")}));
  table.push_back(text_kind<ResizeCenterCrop>(
      "ResizeCenterCrop", {text_member<&ResizeCenterCrop::resize>("resize"),
                           text_member<&ResizeCenterCrop::size>("size"),
                           text_member<&ResizeCenterCrop::interpolation>("interpolation")}));
  table.push_back(text_kind<Resize>(
      "Resize",
      {text_member<&Resize::size>("size"), text_member<&Resize::interpolation>("interpolation")}));
  table.push_back(text_kind<RandomCrop>(
      "RandomCrop",
      {text_member<&RandomCrop::size>("size"), text_member<&RandomCrop::padding>("padding"),
       text_member<&RandomCrop::fill>("fill"),
       text_member<&RandomCrop::flip_probability>("flip_probability")}));
  table.push_back(text_kind<ResizeCrop>(
      "ResizeCrop", {text_member<&ResizeCrop::size>("size"),
                     text_pair<&ResizeCrop::factor_min, &ResizeCrop::factor_max>("factor"),
                     text_pair<&ResizeCrop::bottom_min, &ResizeCrop::bottom_max>("bottom"),
                     text_member<&ResizeCrop::centered>("centered"),
                     text_member<&ResizeCrop::flip_probability>("flip_probability"),
                     text_member<&ResizeCrop::scaled_decode>("scaled_decode"),
                     text_member<&ResizeCrop::interpolation>("interpolation")}));
  table.push_back(text_kind<ScalePad>("ScalePad", {text_member<&ScalePad::size>("size"),
                                                   text_member<&ScalePad::factor>("factor")}));
}

// What turns, bends or mirrors.
void add_warps(std::vector<TextKind>& table) {
  table.push_back(text_kind<RandomHorizontalFlip>(
      "RandomHorizontalFlip", {text_member<&RandomHorizontalFlip::probability>("probability")}));
  table.push_back(text_kind<RandomVerticalFlip>(
      "RandomVerticalFlip", {text_member<&RandomVerticalFlip::probability>("probability")}));
  table.push_back(text_kind<RandomRotation>(
      "RandomRotation",
      {text_member<&RandomRotation::degrees>("degrees"),
       text_member<&RandomRotation::filter>("filter"), text_member<&RandomRotation::fill>("fill"),
       text_member<&RandomRotation::expand>("expand"),
       text_member<&RandomRotation::center>("center")}));
  table.push_back(text_kind<RandomAffine>(
      "RandomAffine",
      {text_member<&RandomAffine::degrees>("degrees"),
       text_pair<&RandomAffine::translate_x, &RandomAffine::translate_y>("translate"),
       text_pair<&RandomAffine::scale_min, &RandomAffine::scale_max>("scale"),
       text_member<&RandomAffine::shear_x>("shear_x"),
       text_member<&RandomAffine::shear_y>("shear_y"), text_member<&RandomAffine::filter>("filter"),
       text_member<&RandomAffine::fill>("fill"), text_member<&RandomAffine::center>("center")}));
  table.push_back(text_kind<RandomPerspective>(
      "RandomPerspective", {text_member<&RandomPerspective::distortion>("distortion"),
                            text_member<&RandomPerspective::probability>("probability"),
                            text_member<&RandomPerspective::filter>("filter"),
                            text_member<&RandomPerspective::fill>("fill")}));
}

// What a Compose has beside them.
void add_steps(std::vector<TextKind>& table) {
  table.push_back(text_kind<Pad>(
      "Pad", {text_member<&Pad::padding>("padding"), text_member<&Pad::fill>("fill")}));
  table.push_back(text_kind<RandomZoomOut>(
      "RandomZoomOut", {text_pair<&RandomZoomOut::side_min, &RandomZoomOut::side_max>("side"),
                        text_member<&RandomZoomOut::probability>("probability"),
                        text_member<&RandomZoomOut::fill>("fill")}));
  table.push_back(text_kind<RandomIoUCrop>(
      "RandomIoUCrop", {text_pair<&RandomIoUCrop::scale_min, &RandomIoUCrop::scale_max>("scale"),
                        text_pair<&RandomIoUCrop::ratio_min, &RandomIoUCrop::ratio_max>("ratio"),
                        text_member<&RandomIoUCrop::overlaps>("overlaps"),
                        text_member<&RandomIoUCrop::trials>("trials")}));
  table.push_back(text_kind<ScaleJitter>(
      "ScaleJitter", {text_member<&ScaleJitter::size>("size"),
                      text_pair<&ScaleJitter::scale_min, &ScaleJitter::scale_max>("scale"),
                      text_member<&ScaleJitter::interpolation>("interpolation")}));
  table.push_back(text_kind<FixedSizeCrop>(
      "FixedSizeCrop",
      {text_member<&FixedSizeCrop::size>("size"), text_member<&FixedSizeCrop::fill>("fill")}));
  table.push_back(text_kind<CenterCrop>("CenterCrop", {text_member<&CenterCrop::size>("size")}));
  table.push_back(text_kind<RandomShortestSize>(
      "RandomShortestSize", {text_member<&RandomShortestSize::sizes>("sizes"),
                             text_or_none<&RandomShortestSize::max_size>("max_size"),
                             text_member<&RandomShortestSize::interpolation>("interpolation")}));
  table.push_back(text_kind<ResizeShortSide>(
      "ResizeShortSide", {text_member<&ResizeShortSide::size>("size"),
                          text_or_none<&ResizeShortSide::max_size>("max_size"),
                          text_member<&ResizeShortSide::interpolation>("interpolation")}));
  table.push_back(
      text_kind<PadToLargest>("PadToLargest", {text_member<&PadToLargest::size>("size"),
                                               text_member<&PadToLargest::multiple>("multiple")}));
}

}  // namespace

void add_geometry_kinds(std::vector<TextKind>& table) {
  add_crops(table);
  add_warps(table);
  add_steps(table);
  table.push_back(
      text_kind<Compose>("Compose", {{.name = "steps", .read = read_steps, .is_required = true}}));
}

}  // namespace ffkit
