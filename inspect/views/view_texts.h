// The views that the command line asks for: texts of transforms, with a name and copies or without.
//
//   "RandomResizedCrop(224)"             the loader's default view, which draws the record's
//                                        numbers
//   "global*2: RandomResizedCrop(224)"   two pictures of a view with a name
#pragma once

#include <string>
#include <vector>

#include <ffkit/loader/view.h>

namespace ffkit {

struct WantedViews {
  std::vector<View> views;  // their outputs are bytes [H, W, 3] where the transform makes bytes
  // They are views of LoaderOptions; else the only one is the default view, called as image_field.
  bool are_named = false;
};

// Throws Error(invalid_argument) for several texts of which one has no name, for a name that is
// there twice, for no copies, and as parse_transforms() does.
WantedViews parse_view_texts(const std::vector<std::string>& texts, const std::string& image_field);

}  // namespace ffkit
