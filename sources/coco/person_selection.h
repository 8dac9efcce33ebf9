// Which persons of an annotation file become records, and with which box.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ffkit/sources/persons.h>

#include "coco/person_file.h"

namespace ffkit {

struct ChosenPerson {
  size_t picture = 0;
  int64_t person = -1;        // number in PersonFile::people; -1: a detection alone
  int64_t annotation_id = 0;  // -1 - number of a detection
  pose::Box annotated, box;   // the box, and what is cropped
  double score = 1;
};

struct PersonSelection {
  std::vector<ChosenPerson> chosen;
  // Why persons were left out, with how many: "another person is too near".
  std::map<std::string, int64_t> left_out;
};

// `options`: with the set's defaults put in. `detections`: null: the annotated boxes. Throws
// Error(invalid_argument) for a detection of a picture that is not there.
PersonSelection select_persons(const PersonFile& file, const PersonSet& set,
                               const PersonsOptions& options,
                               const std::vector<PersonDetection>* detections);

}  // namespace ffkit
