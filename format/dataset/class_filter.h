// Conditions on the class of a record, as conditions on its label.
#pragma once

#include <ffkit/format/filter.h>
#include <ffkit/format/manifest.h>

namespace ffkit {

// `filter` with "class == 'tench'" as "label == 0", where the records have a label and no field
// "class", and the manifest has classes. A class is known by its identifier, by its name, and by
// one of several names ("tench, Tinca tinca"). Throws Error(not_found) for a class that there is
// not, Error(invalid_argument) for a name that several classes have, and for a comparison that
// classes have not.
Filter with_labels_for_classes(const Filter& filter, const Manifest& manifest);

}  // namespace ffkit
