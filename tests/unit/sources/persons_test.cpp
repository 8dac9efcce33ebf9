#include <ffkit/pose/person_record.h>
#include <ffkit/sources/persons.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

namespace p = pose::person;

// `count` times `value`, as the inside of a JSON array.
std::string times(int count, const std::string& value) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i > 0 ? ", " : "") + value;
  return out;
}

// A person of MuCo or MuPoTS: all joints at (x, y, z) and in the middle of its box.
std::string person(int id, int image, const std::string& at, int joints,
                   const std::string& more = "", const std::string& box = "2, 2, 8, 10") {
  return fmt::format(
      R"({{"id": {}, "image_id": {}, "bbox": [{}], "keypoints_cam": [{}], "keypoints_img": [{}], "keypoints_vis": [{}]{}}})",
      id, image, box, times(joints, "[" + at + "]"), times(joints, "[6.5, 7]"),
      times(joints, "true"), more);
}

class PersonsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a.jpg", "MultiPersonTestSet/a.jpg", "images/a.jpg", "train2017/a.jpg",
                             "imageFiles/walk/a.jpg"}) {
      write_file(dir_ / name, jpeg_picture(1));
    }
  }
  std::unique_ptr<Source> open(const std::string& set, PersonsOptions options = {}) {
    options.set = set;
    return open_persons(dir_.path(), options);
  }
  void write_muco(const std::string& people,
                  const std::string& camera = R"("f": [10, 12], "c": [8, 7])") {
    write_file(
        dir_ / "MuCo-3DHP.json",
        fmt::format(
            R"({{"images": [{{"id": 5, "file_name": "a.jpg", "width": 16, "height": 16, {}}}],
                              "annotations": [{}]}})",
            camera, people));
  }
  template <typename T>
  std::vector<T> numbers(const Source& source, int64_t index, const char* field, size_t split = 0) {
    const Schema schema = source.schema();
    const std::vector<std::byte> bytes = record_of(source, split, index);
    return values_of<T>(RecordView(schema, bytes).tensor(schema.require(field)));
  }
  template <typename T>
  T number(const Source& source, int64_t index, const char* field, size_t split = 0) {
    const Schema schema = source.schema();
    const std::vector<std::byte> bytes = record_of(source, split, index);
    return RecordView(schema, bytes).scalar<T>(schema.require(field));
  }
  const TempDir dir_;
};

TEST_F(PersonsTest, MuCoTakesTheNearestAndThoseFarFromOthers) {
  write_muco(person(1, 5, "0, 0, 3000", 21) + "," + person(2, 5, "100, 0, 2000", 21) + "," +
             person(3, 5, "2000, 0, 4000", 21) + "," + person(4, 5, "-3000, 0, 7501", 21) + "," +
             person(5, 5, "6000, 0, 4000", 21, "", "20, 2, 8, 10"));
  const auto source = open("muco");
  ASSERT_EQ(source->splits().size(), 1);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_TRUE(source->splits()[0].is_training);
  ASSERT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_EQ(number<int64_t>(*source, 0, p::kAnnotationId), 2);
  EXPECT_EQ(number<int64_t>(*source, 1, p::kAnnotationId), 3);
  EXPECT_THAT(
      source->notes(),
      Contains("train: 2 persons are used; left out: 1 (another person is too near), 1 (the box is "
               "too small or outside of the picture), 1 (the depth is out of range)"));
  EXPECT_EQ(source->facts(0).at("left out: another person is too near"), "1");
  EXPECT_THAT(numbers<double>(*source, 1, p::kRootCamera), ElementsAre(2000, 0, 4000));
  EXPECT_THAT(numbers<double>(*source, 1, p::kRootImage), ElementsAre(6.5, 7, 4000));
  EXPECT_THAT(numbers<double>(*source, 0, p::kBox), ElementsAre(-0.125, 0.875, 11.25, 11.25));
  EXPECT_THAT(numbers<float>(*source, 0, p::kBoxes), ElementsAre(2, 2, 8, 10));
  EXPECT_THAT(numbers<double>(*source, 0, p::kFocal), ElementsAre(10, 12));
  EXPECT_EQ(numbers<float>(*source, 0, p::kJoints).size(), 63);
  EXPECT_EQ(number<float>(*source, 0, p::kRootVisible), 1);
  EXPECT_EQ(number<uint8_t>(*source, 0, p::kHasDepth), 1);

  EXPECT_EQ(open("muco", {.min_distance = 0, .max_depth = 0})->splits()[0].num_samples, 4);
  EXPECT_EQ(
      open("muco", {.min_distance = 0, .min_depth = 2500, .max_depth = 0})->splits()[0].num_samples,
      3);
  EXPECT_THAT(numbers<double>(*open("muco", {.box_percent = 100}), 0, p::kBox),
              ElementsAre(1, 2, 9, 9));
  EXPECT_ERROR(open("muco", {.min_box = 9}), invalid_argument);
}

TEST_F(PersonsTest, MuPoTSHasTheValidRootsOfItsPicturesAndTakesDetections) {
  write_file(dir_ / "MuPoTS-3D.json",
             fmt::format(R"({{"annotations": [{}, {}, {}],
      "images": [{{"id": 7, "file_name": "a.jpg", "width": 16, "height": 16, "intrinsic": [10, 11, 8, 7]}},
                 {{"id": 8, "file_name": "none.jpg", "width": 16, "height": 16, "intrinsic": [10, 11, 8, 7]}}]}})",
                         person(1, 7, "1, 2, 3000", 17, R"(, "is_valid": 1)"),
                         person(2, 7, "1, 2, 4000", 17, R"(, "is_valid": 0)"),
                         person(3, 8, "1, 2, 5000", 17, R"(, "is_valid": 1)", "20, 2, 8, 10")));
  auto source = open("mupots");
  EXPECT_EQ(source->splits()[0].name, "test");
  ASSERT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_EQ(source->facts(0).at(pose::kValidRootsFact), "2");
  EXPECT_THAT(numbers<double>(*source, 0, p::kPictureRoots), ElementsAre(1, 2, 3000));
  EXPECT_EQ(number<double>(*source, 0, p::kScore), 1);

  write_file(dir_ / "boxes.json", R"([{"image_id": 7, "bbox": [1, 1, 9, 9], "score": 0.25},
                                      {"image_id": 7, "bbox": [1, 1, 0, 9], "score": 0.5}])");
  source = open("mupots", {.detections = "boxes.json"});
  ASSERT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_EQ(number<int64_t>(*source, 0, p::kAnnotationId), -1);
  EXPECT_EQ(number<double>(*source, 0, p::kScore), 0.25);
  EXPECT_EQ(number<uint8_t>(*source, 0, p::kHasDepth), 0);
  EXPECT_THAT(numbers<double>(*source, 0, p::kPictureRoots), ElementsAre(1, 2, 3000));
  EXPECT_EQ(source->inputs(0).size(), 2);

  write_file(dir_ / "boxes.json", R"([{"image_id": 9, "bbox": [1, 1, 9, 9], "score": 0.25}])");
  EXPECT_ERROR(open("mupots", {.detections = "boxes.json"}), invalid_argument);
  write_file(dir_ / "boxes.json", R"([{"image_id": 7, "bbox": [1, 1, 9]}])");
  EXPECT_ERROR(open("mupots", {.detections = "boxes.json"}), invalid_argument);
  // A results file, whose boxes are what was cropped.
  write_file(dir_ / "boxes.json",
             R"([{"image_id": 7, "bbox": [1, 1, 9, 9], "root_cam": [1, 2, 3]}])");
  EXPECT_ERROR(open("mupots", {.detections = "boxes.json"}), invalid_argument);
  EXPECT_ERROR(open("mupots", {.min_distance = 1}), invalid_argument);
}

TEST_F(PersonsTest, CocoAndMpiiHaveNoDepth) {
  const auto person_of = [](int id, const std::string& keypoints, int num,
                            const std::string& more = "") {
    return fmt::format(
        R"({{"id": {}, "image_id": 7, "bbox": [2, 2, 8, 10], "keypoints": [{}], "num_keypoints": {}{}}})",
        id, keypoints, num, more);
  };
  const std::string image = R"([{"id": 7, "file_name": "a.jpg", "width": 16, "height": 16}])";
  const std::string hips = times(11, "0, 0, 0") + ", 4, 6, 2, 9, 7, 1, " + times(4, "0, 0, 0");
  write_file(dir_ / "annotations/person_keypoints_train2017.json",
             fmt::format(R"({{"images": {}, "annotations": [{}, {}, {}, {}]}})", image,
                         person_of(1, hips, 2), person_of(2, times(17, "0, 0, 0"), 0),
                         person_of(3, hips, 2, R"(, "iscrowd": 1)"),
                         person_of(4, times(17, "3, 3, 0"), 1)));
  auto source = open("mscoco");
  EXPECT_EQ(source->splits()[0].name, "train2017");
  ASSERT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_THAT(numbers<double>(*source, 0, p::kRootImage), ElementsAre(6.5, 6.5, 0));
  EXPECT_EQ(number<float>(*source, 0, p::kRootVisible), 1);
  EXPECT_EQ(number<float>(*source, 1, p::kRootVisible), 0);
  EXPECT_EQ(number<uint8_t>(*source, 0, p::kHasDepth), 0);
  EXPECT_THAT(numbers<double>(*source, 0, p::kFocal), ElementsAre(1500, 1500));
  EXPECT_THAT(numbers<double>(*source, 0, p::kCentre), ElementsAre(8, 8));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("left out: 1 (has no joints), 1 (is a crowd)")));
  EXPECT_ERROR(open("mscoco", {.max_depth = 5}), invalid_argument);

  write_file(
      dir_ / "annotations/train.json",
      fmt::format(
          R"({{"images": [{{"id": 7, "file_name": "images/a.jpg", "width": 16, "height": 16}}], "annotations": [{}]}})",
          person_of(1, times(6, "0, 0, 0") + ", 4, 6, 1, " + times(9, "0, 0, 0"), 1)));
  source = open("mpii");
  EXPECT_THAT(numbers<double>(*source, 0, p::kRootImage), ElementsAre(4, 6, 0));
  EXPECT_EQ(number<float>(*source, 0, p::kRootVisible), 1);
}

TEST_F(PersonsTest, Human36mTurnsTheWorldsJoints) {
  for (const int subject : {1, 5, 6, 7, 8, 9, 11}) {
    const std::string prefix = fmt::format("annotations/Human36M_subject{}_", subject);
    const auto frame = [&](int id, int number) {
      return fmt::format(
          R"({{"id": {}, "file_name": "a.jpg", "width": 16, "height": 16, "subject": {}, "frame_idx": {}, "cam_idx": 2, "action_idx": 3, "subaction_idx": 1}})",
          10 * subject + id, subject, number);
    };
    const auto person_of = [&](int id) {
      return fmt::format(
          R"({{"id": {0}, "image_id": {0}, "bbox": [2, 2, 8, 10], "keypoints_vis": [{1}]}})",
          10 * subject + id, times(17, "true"));
    };
    write_file(dir_ / (prefix + "data.json"),
               fmt::format(R"({{"images": [{}, {}], "annotations": [{}, {}]}})", frame(1, 0),
                           frame(2, 3), person_of(1), person_of(2)));
    write_file(
        dir_ / (prefix + "camera.json"),
        R"({"2": {"R": [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "t": [1, 2, 3], "f": [10, 20], "c": [8, 7]}})");
    write_file(
        dir_ / (prefix + "joint_3d.json"),
        fmt::format(R"({{"3": {{"1": {{"0": [{0}], "3": [{0}]}}}}}})", times(17, "[997, 10, 20]")));
  }
  const auto source = open("human36m");
  ASSERT_EQ(source->splits().size(), 2);
  EXPECT_EQ(source->splits()[0].num_samples, 5);
  EXPECT_EQ(source->splits()[1].num_samples, 2);
  EXPECT_THAT(numbers<double>(*source, 0, p::kRootCamera), ElementsAre(11, 22, 1000));
  EXPECT_THAT(numbers<double>(*source, 0, p::kRootImage),
              ElementsAre(double{11.0F / 1000 * 10 + 8}, double{22.0F / 1000 * 20 + 7}, 1000));
  EXPECT_THAT(source->notes(), Contains("test: 2 persons are used; left out: 2 (another frame)"));
  const auto first = open("human36m", {.protocol = 1, .frame_step = 3});
  EXPECT_EQ(first->splits()[0].num_samples, 12);
  EXPECT_EQ(first->splits()[1].num_samples, 2);

  write_file(dir_ / "annotations/Human36M_subject5_joint_3d.json",
             R"({"3": {"1": {"0": [[1, 2, 3]]}}})");
  EXPECT_ERROR(open("human36m"), invalid_argument);
}

TEST_F(PersonsTest, ThreeDpwIsProjected) {
  write_file(
      dir_ / "3DPW_test.json",
      fmt::format(
          R"({{"images": [{{"id": 7, "file_name": "a.jpg", "sequence": "walk", "width": 16, "height": 16,
                              "cam_param": {{"focal": [10, 10], "princpt": [8, 8]}}}}],
                              "annotations": [{{"id": 1, "image_id": 7, "bbox": [2, 2, 8, 10], "joint_cam": [{}]}}]}})",
          times(24, "[1, -1, 2]")));
  const auto source = open("3dpw");
  EXPECT_THAT(numbers<double>(*source, 0, p::kRootImage), ElementsAre(13, 3, 2));
  EXPECT_EQ(number<float>(*source, 0, p::kRootVisible), 1);
}

TEST_F(PersonsTest, BadInputIsNamed) {
  const std::string good = person(1, 5, "0, 0, 3000", 21);
  write_muco(good, R"("f": [10, 12])");
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_muco(good, R"("f": [0, 12], "c": [1, 1])");
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_muco(person(1, 5, "0, 0, 3000", 17));
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_muco(person(1, 5, "0, 0, 3000", 21, "", "1, 2, 3"));
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_muco(person(1, 6, "0, 0, 3000", 21));
  EXPECT_ERROR(open("muco"), invalid_argument);
  std::string short_mask = good;
  short_mask.replace(short_mask.rfind("true, "), 6, "");
  write_muco(short_mask);
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_file(dir_ / "MuCo-3DHP.json", R"({"images": [], "annotations": {"1": {}}})");
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_file(dir_ / "MuCo-3DHP.json", R"({"images": [], "imag\u0065s": []})");
  EXPECT_ERROR(open("muco"), invalid_argument);
  write_muco(good);
  std::filesystem::remove(dir_ / "a.jpg");
  EXPECT_ERROR(open("muco"), not_found);
  write_file(dir_ / "a.jpg", jpeg_picture(1, 24));
  EXPECT_ERROR(record_of(*open("muco"), 0, 0), invalid_argument);
  EXPECT_ERROR(open("mupots"), not_found);
  EXPECT_ERROR(open("mads"), invalid_argument);
}

}  // namespace
}  // namespace ffkit
