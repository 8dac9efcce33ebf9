// Annotation files of persons, and the members of their JSON objects.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/source.h>
#include <ffkit/pose/geometry.h>
#include <ffkit/sources/persons.h>

#include "converter/input/input_file.h"

namespace ffkit {

// Members of the JSON objects that describe pictures and persons. All throw Error(invalid_argument)
// without a path: callers know where they read.

class PersonJson {
 public:
  explicit PersonJson(simdjson::dom::object object) : object_(object) {}
  // Of what must be an object.
  explicit PersonJson(simdjson::dom::element value);

  // Null counts as absent.
  bool has(std::string_view name) const;
  simdjson::dom::element at(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  std::string text(std::string_view name) const;
  bool is_true(std::string_view name) const;  // a boolean, or a number that is not 0
  PersonJson object(std::string_view name) const;
  // All numbers of an array of arrays, in order; true and false are 1 and 0. Throws unless there
  // are `count`, each finite; `what` says what they are for.
  std::vector<double> numbers(std::string_view name, size_t count, std::string_view what) const;
  pose::Box box() const;  // of "bbox"

 private:
  simdjson::dom::object object_;
};

// Hands over the pictures and persons of an annotation file, its lists "images" and "annotations",
// in the file's order, each with its id. What they throw gets the file, and which of them it is.
// Throws Error(corrupt) for a file that is broken.
using AddPersonJson = std::function<void(const PersonJson& json, int64_t id)>;
void read_annotations(const InputFile& file, const AddPersonJson& add_picture,
                      const AddPersonJson& add_person);

// A whole file of JSON, which lives in the parser.
simdjson::simdjson_result<simdjson::dom::element> load_json(simdjson::dom::parser& parser,
                                                            const std::filesystem::path& path);
// Why load_json() could not read the file.
std::string problem_of_json(const std::filesystem::path& path, simdjson::error_code error);

// Annotation files of persons, as the authors of 3DMPPE_ROOTNET_RELEASE publish them.

// What differs from set to set.
struct PersonSet {
  const char* name;
  size_t num_joints;
  size_t root;                      // among them; of mscoco: the pelvis, made of the hips
  bool has_depth;                   // whether joints are known in three dimensions
  bool says_what_is_valid = false;  // annotations have is_valid
  int64_t min_distance = 0;         // PersonsOptions
  int64_t min_depth = 0;
  int64_t max_depth = 0;
};
// Throws Error(invalid_argument) that lists the sets there are.
const PersonSet& person_set(const std::string& name);

struct PersonPicture {
  int64_t id = 0;
  std::string file_name;  // below the folder of pictures
  int64_t width = 0, height = 0;
  pose::Camera camera;
};

struct AnnotatedPerson {
  int64_t id = 0;
  size_t picture = 0;  // number in PersonFile::pictures
  pose::Box box;
  pose::Point3 root_image = {};  // x, y in pixels, depth
  pose::Point3 root_camera = {};
  float visible = 0;
  bool is_crowd = false, is_valid = true, has_joints = true;
  std::vector<float> joints;  // x, y, visible of each
};

struct PersonFile {
  std::vector<PersonPicture> pictures;
  std::vector<AnnotatedPerson> people;   // in the order of the file
  std::map<int64_t, size_t> picture_of;  // by id
  std::vector<SourceInput> inputs;
  int64_t num_other_frames = 0;  // left out by frame_step
};

// Throws Error with the file, the annotation, reason and remedy.
PersonFile read_person_file(const std::filesystem::path& path, const PersonSet& set);
// Of Human3.6M: the frames of these subjects whose number is a multiple of `frame_step`.
PersonFile read_human36m(const std::filesystem::path& folder, std::span<const int64_t> subjects,
                         int64_t frame_step);

struct PersonDetection {
  int64_t image_id = 0;
  pose::Box box;
  double score = 1;
};
std::vector<PersonDetection> read_person_detections(const std::filesystem::path& path,
                                                    std::vector<SourceInput>& inputs);

// Which persons of an annotation file become records, and with which box.

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
