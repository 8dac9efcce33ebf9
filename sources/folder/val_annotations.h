// val_annotations.txt of tiny-imagenet: the classes of its validation pictures, which lie in one
// folder.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ffkit {

// Lines "val_0.JPEG<tab>n03444034<tab>0<tab>32<tab>44<tab>62", the picture, its class and a box,
// which may be missing. Returns the class of each picture. `origin` stands for the file in
// messages; throws Error(corrupt) naming the line for anything else and for a picture that is there
// twice.
std::map<std::string, std::string> parse_val_annotations(std::string_view text,
                                                         const std::string& origin);

}  // namespace ffkit
