// The views that the command line asks for: texts of transforms, with a name and copies or without,
// or the transforms of a training run, from its config.toml.
//
//   "RandomResizedCrop(224)"             the loader's default view, which draws the record's
//                                        numbers
//   "global*2: RandomResizedCrop(224)"   two pictures of a view with a name
#pragma once

#include <filesystem>
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

struct RunTransform {
  // What the network of a run of fftrain on pictures with labels sees, as a text of transforms
  // (training_transforms()), at the size of the last epochs.
  std::string text;
  // What the run does beside it, a sentence each: pictures of a batch are mixed, sizes grow.
  std::vector<std::string> left_out;
};

// An option that the file lacks has fftrain's default. Throws Error(not_found) without the file,
// Error(invalid_argument) for a file that is no such run's, and for values that fftrain refuses.
RunTransform transform_of_run(const std::filesystem::path& config);

// The same; warns on stderr of what is left out.
std::string shown_transform_of_run(const std::filesystem::path& config);

}  // namespace ffkit
