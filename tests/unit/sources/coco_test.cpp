#include <ffkit/image/image_codec.h>
#include <ffkit/sources/coco.h>

#include "encode_for_test.h"
#include "sources/numbers/json_tables.h"
#include "sources_prelude.h"
#include "test_images.h"

namespace ffkit {
namespace {

// Two pictures of 16 x 16, the second without annotations; "annotations" comes first, as it may.
constexpr const char* kInstances = R"({
  "info": {"description": "odd: \"]}[{\\", "year": 2017}, "licenses": [1, {"a": []}],
  "annotations": [
    {"id": 12, "image_id": 9, "category_id": 3, "bbox": [1, 2.5, 3, 4], "area": 12, "iscrowd": 0,
     "segmentation": [[1, 2, 3, 4.5]], "unknown": {"x": "}"}},
    {"id": 11, "image_id": 9, "category_id": 90, "bbox": [0, 0, 16, 16], "area": 6.5, "iscrowd": 1,
     "segmentation": {"counts": [1, 2], "size": [16, 16]}}],
  "images": [
    {"id": 9, "file_name": "b.jpg", "width": 16, "height": 16},
    {"id": 4, "file_name": "sub/a.jpg", "width": 16, "height": 16, "license": 1}],
  "categories": [{"id": 90, "name": "toothbrush"}, {"id": 3, "name": "car", "supercategory": "v"}]
})";

class CocoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(dir_ / "train2017/b.jpg", jpeg_picture(1));
    write_file(dir_ / "train2017/sub/a.jpg", jpeg_picture(2));
  }
  std::unique_ptr<Source> open(const std::string& json, const CocoOptions& options = {}) {
    write_file(dir_ / "annotations/instances_train2017.json", json);
    return open_coco(dir_.path(), options);
  }
  // kInstances with `what` replaced.
  static std::string with(const std::string& what, const std::string& by) {
    std::string json = kInstances;
    const size_t at = json.find(what);
    if (at == std::string::npos) throw std::logic_error(what);
    return json.replace(at, what.size(), by);
  }
  TempDir dir_;
};

TEST_F(CocoTest, ReadsPicturesWithTheirAnnotations) {
  const auto source = open(kInstances, {.segmentation = true});
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->splits()[0].name, "train2017");
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_THAT(source->classes(), ElementsAre("car", "toothbrush"));
  EXPECT_THAT(source->class_ids(), ElementsAre(ClassId(3), ClassId(90)));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 of 2 pictures have no annotation")));
  const Schema schema = source->schema();
  std::vector<SampleProblem> problems;
  auto record = record_of(*source, 0, 0, &problems);
  EXPECT_THAT(problems, IsEmpty());
  std::optional<RecordView> view(std::in_place, schema, record);
  const auto field = [&](const char* name) { return view->field(schema.require(name)); };
  EXPECT_EQ(field("image").bytes().size(), jpeg_picture(1).size());
  EXPECT_EQ(field("image_id").scalar<int64_t>(), 9);
  EXPECT_EQ(field("width").scalar<int64_t>(), 16);
  EXPECT_EQ(field("id").string(), "b.jpg");
  EXPECT_THAT(field("boxes").tensor().shape, ElementsAre(2, 4));
  EXPECT_THAT(values_of<float>(field("boxes").tensor()), ElementsAre(1, 2.5F, 3, 4, 0, 0, 16, 16));
  EXPECT_THAT(values_of<int64_t>(field("labels").tensor()), ElementsAre(0, 1));
  EXPECT_THAT(values_of<int64_t>(field("category_ids").tensor()), ElementsAre(3, 90));
  EXPECT_THAT(values_of<int64_t>(field("annotation_ids").tensor()), ElementsAre(12, 11));
  EXPECT_THAT(values_of<uint8_t>(field("iscrowd").tensor()), ElementsAre(0, 1));
  EXPECT_THAT(values_of<float>(field("area").tensor()), ElementsAre(12, 6.5F));
  EXPECT_EQ(field("segmentation").string(), R"([[[1,2,3,4.5]],{"counts":[1,2],"size":[16,16]}])");

  record = record_of(*source, 0, 1);
  view.emplace(schema, record);
  EXPECT_THAT(field("boxes").tensor().shape, ElementsAre(0, 4));
  EXPECT_THAT(field("labels").tensor().shape, ElementsAre(0));
  EXPECT_EQ(field("segmentation").string(), "[]");
  EXPECT_EQ(field("id").string(), "sub/a.jpg");
}

// As annotations 918 and 2206849 of COCO's train2017, whose height is 0.
TEST_F(CocoTest, LeavesOutBoxesWithoutArea) {
  for (const std::string box :
       {"[]", "null", "[1, 2.5, 3, 0]", "[1, 2.5, 0.0, 4]", "[1, 2.5, -3, 4]", "[1, NaN, 3, 4]",
        "[1, 2.5, Infinity, 4]", "[null, 2.5, 3, 4]", "[1, 2.5, 3]", R"([1, "2.5", 3, 4])",
        "[1, 1e39, 3, 4]", R"({"x": 1})"}) {
    const auto source = open(with("[1, 2.5, 3, 4]", box), {.mask_runs = true});
    const Schema schema = source->schema();
    std::vector<SampleProblem> problems;
    const auto record = record_of(*source, 0, 0, &problems);
    const RecordView view(schema, record);
    const auto tensor = [&](const char* name) { return view.tensor(schema.require(name)); };
    EXPECT_THAT(values_of<float>(tensor("boxes")), ElementsAre(0, 0, 16, 16)) << box;
    EXPECT_THAT(values_of<int64_t>(tensor("labels")), ElementsAre(1));
    EXPECT_THAT(values_of<int64_t>(tensor("annotation_ids")), ElementsAre(11));
    EXPECT_THAT(values_of<float>(tensor("area")), ElementsAre(6.5F));
    EXPECT_THAT(tensor("iscrowd").shape, ElementsAre(1));
    EXPECT_EQ(view.list(schema.require("masks")).size(), 1U);
    ASSERT_FALSE(problems.empty());
    EXPECT_THAT(problems[0].reason,
                HasSubstr(box == "[]" || box == "null" ? "annotation 12 has no box in 'bbox'"
                                                       : "annotation 12 has no area: its box is "));
    EXPECT_EQ(problems[0].action, kItemLeftOut);
  }
  // The picture stays, with an empty list.
  std::string none = with("[1, 2.5, 3, 4]", "[1, 2.5, 3, 0]");
  none.replace(none.find("[0, 0, 16, 16]"), 14, "[0, 0, 0, 0]");
  const auto source = open(none);
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  const auto record = record_of(*source, 0, 0);
  const Schema schema = source->schema();
  EXPECT_THAT(RecordView(schema, record).tensor(schema.require("boxes")).shape, ElementsAre(0, 4));
}

TEST_F(CocoTest, GivesEachPictureItsOwnAnnotations) {
  const auto annotation = [](int id, int picture) {
    return fmt::format(
        R"({{"id": {0}, "image_id": {1}, "category_id": 3, "bbox": [{0}, 0, 1, 1], "area": {0}.5, "iscrowd": {2}}})",
        id, picture, id % 2);
  };
  const std::string json = kInstances;
  const size_t begin = json.find("\"annotations\": [") + 16;
  const size_t end = json.find("\"images\"");
  const auto source = open(json.substr(0, begin) + annotation(21, 4) + "," + annotation(22, 9) +
                           "," + annotation(23, 4) + "], " + json.substr(end));
  const Schema schema = source->schema();
  std::vector<std::vector<int64_t>> ids;
  for (int64_t i = 0; i < 2; ++i) {
    const auto record = record_of(*source, 0, i);
    const RecordView view(schema, record);
    ids.push_back(values_of<int64_t>(view.tensor(schema.require("annotation_ids"))));
    const auto boxes = values_of<float>(view.tensor(schema.require("boxes")));
    const auto areas = values_of<float>(view.tensor(schema.require("area")));
    const auto crowds = values_of<uint8_t>(view.tensor(schema.require("iscrowd")));
    for (size_t k = 0; k < ids.back().size(); ++k) {
      EXPECT_EQ(boxes[4 * k], static_cast<float>(ids.back()[k]));
      EXPECT_EQ(areas[k], static_cast<float>(ids.back()[k]) + 0.5F);
      EXPECT_EQ(crowds[k], ids.back()[k] % 2);
    }
  }
  EXPECT_THAT(ids, ElementsAre(ElementsAre(22), ElementsAre(21, 23)));
}

TEST_F(CocoTest, TakesKeyPointsAndArraysOfPoseSets) {
  write_file(dir_ / "annotations/person_keypoints_train2017.json", R"({
    "images": [{"id": 1, "file_name": "b.jpg", "width": 16, "height": 16, "f": [1000, 1001.5], "c": [8, 9]}],
    "annotations": [
      {"id": 1, "image_id": 1, "bbox": [0, 0, 1, 1], "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1,
       "keypoints_cam": [[1, 2, 3], [4, 5, 6]], "keypoints_img": [[1, 2], [3, 4]], "keypoints_vis": [1, 0]},
      {"id": 2, "image_id": 1, "bbox": [0, 0, 2, 2], "keypoints": [5, 6, 1, 7, 8, 2], "num_keypoints": 2,
       "keypoints_cam": [[7, 8, 9], [1, 1, 1.5]], "keypoints_img": [[5, 6], [7, 8]]}]})");
  const auto source = open_coco(dir_.path());
  const Schema schema = source->schema();
  EXPECT_THAT(source->classes(), IsEmpty());
  EXPECT_EQ(schema.index_of("labels"), -1);  // no categories
  EXPECT_EQ(schema.index_of("area"), -1);
  EXPECT_EQ(schema.index_of("keypoints_vis"), -1);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("'keypoints_vis' is left out: only 1 of 2")));
  const auto record = record_of(*source, 0, 0);
  const RecordView view(schema, record);
  const auto tensor = [&](const char* name) { return view.tensor(schema.require(name)); };
  EXPECT_THAT(tensor("keypoints").shape, ElementsAre(2, 2, 3));
  EXPECT_THAT(values_of<float>(tensor("keypoints")),
              ElementsAre(1, 2, 2, 0, 0, 0, 5, 6, 1, 7, 8, 2));
  EXPECT_THAT(values_of<int64_t>(tensor("num_keypoints")), ElementsAre(1, 2));
  EXPECT_THAT(tensor("keypoints_cam").shape, ElementsAre(2, 2, 3));
  EXPECT_EQ(values_of<float>(tensor("keypoints_cam")).back(), 1.5F);
  EXPECT_THAT(tensor("keypoints_img").shape, ElementsAre(2, 2, 2));
  EXPECT_THAT(tensor("f").shape, ElementsAre(2));
  EXPECT_THAT(values_of<float>(tensor("f")), ElementsAre(1000, 1001.5F));
}

TEST_F(CocoTest, NumbersThatAreNoneCostTheirArrayAlone) {
  const std::string whole = R"({
    "images": [{"id": 1, "file_name": "b.jpg", "width": 16, "height": 16}],
    "annotations": [{"id": 1, "image_id": 1, "bbox": [0, 0, 1, 1], "keypoints": [5, 6, 2], "area": 1},
                    {"id": 2, "image_id": 1, "bbox": [0, 0, 1, 1], "keypoints": [7, 8, 2], "area": 2}]})";
  for (const char* points : {"[NaN, 6, 2]", R"(["5", 6, 2])", "[5, null, 2]", "[5, [], 2]"}) {
    for (const char* before : {"[5, 6, 2]", "[7, 8, 2]"}) {
      std::string json = whole;
      json.replace(json.find(before), 9, points);
      write_file(dir_ / "annotations/person_keypoints_train2017.json", json);
      const auto source = open_coco(dir_.path());
      const Schema schema = source->schema();
      std::vector<SampleProblem> problems;
      const auto record = record_of(*source, 0, 0, &problems);
      const TensorView tensor = RecordView(schema, record).tensor(schema.require("keypoints"));
      std::vector<float> expected = {5, 6, 2, 7, 8, 2};
      std::fill_n(expected.begin() + (before[1] == '5' ? 0 : 3), 3, 0.0F);
      EXPECT_EQ(values_of<float>(tensor), expected) << points;
      ASSERT_EQ(problems.size(), 1U);
      EXPECT_THAT(problems[0].reason, HasSubstr("has zeros as 'keypoints': "));
      EXPECT_EQ(problems[0].action, kItemLeftOut);
    }
  }
}

TEST_F(CocoTest, LeavesOutArraysOfDifferentShapes) {
  write_file(dir_ / "annotations/person_keypoints_train2017.json", R"({
    "images": [{"id": 1, "file_name": "b.jpg", "width": 16, "height": 16}],
    "annotations": [{"id": 1, "image_id": 1, "bbox": [0, 0, 1, 1], "keypoints": [1, 2, 2], "area": 1},
                    {"id": 2, "image_id": 1, "bbox": [0, 0, 1, 1], "keypoints": [1, 2, 2, 3, 4, 2], "area": 2},
                    {"id": 3, "image_id": 1, "bbox": [0, 0, 1, 1], "keypoints": [1, 2, 2], "area": 3}]})");
  const auto source = open_coco(dir_.path());
  EXPECT_EQ(source->schema().index_of("keypoints"), -1);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("'keypoints' is left out: its arrays have d")));
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 0);
  EXPECT_THAT(values_of<float>(RecordView(schema, record).tensor(schema.require("area"))),
              ElementsAre(1, 2, 3));
}

TEST_F(CocoTest, TakesFilesByName) {
  write_file(dir_ / "x/pictures/b.jpg", jpeg_picture(1));
  write_file(dir_ / "x/my.json",
             R"({"images": [{"id": 1, "file_name": "b.jpg", "width": 16, "height": 16}]})");
  const auto source = open_coco(dir_ / "x", {.annotations = "my.json", .images = "pictures"});
  EXPECT_EQ(source->splits()[0].name, "my");
  EXPECT_EQ(record_of(*source, 0, 0), record_of(*source, 0, 0));
  EXPECT_ERROR(open_coco(dir_ / "x", {.annotations = "my.json"}), invalid_argument);
  EXPECT_ERROR(open_coco(dir_ / "x", {.annotations = "my.json", .images = "none"}), not_found);
}

TEST_F(CocoTest, RefusesPicturesThatChangedAfterTheyWereListed) {
  const auto source = open(kInstances);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path())) {
    if (entry.path().extension() != ".jpg") continue;
    std::filesystem::last_write_time(entry.path(),
                                     entry.last_write_time() + std::chrono::seconds(1));
  }
  EXPECT_ERROR(record_of(*source, 0, 0), not_found);
}

TEST_F(CocoTest, ReportsPicturesOfAnotherSize) {
  const auto source = open(with(R"("b.jpg", "width": 16)", R"("b.jpg", "width": 17)"));
  std::vector<SampleProblem> problems;
  (void)record_of(*source, 0, 0, &problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].reason,
            "the picture has 16 x 16 pixels, but its annotations say 17 x 16 pixels");
}

// A phone's picture of 24 x 16 that is shown as 16 x 24, and annotated so.
TEST_F(CocoTest, TurnsPicturesThatWereAnnotatedUpright) {
  const auto turned = testing::with_exif(encode_jpeg(testing::make_picture(24, 16).view()),
                                         testing::exif_data(6, true));
  const std::string json =
      with(R"("b.jpg", "width": 16, "height": 16)", R"("b.jpg", "width": 16, "height": 24)");
  write_file(dir_ / "train2017/b.jpg",
             {reinterpret_cast<const char*>(turned.data()), turned.size()});
  const auto image_size = [&](ExifUse exif, std::vector<SampleProblem>& problems) {
    const auto source = open(json, {.exif = exif});
    const auto record = record_of(*source, 0, 0, &problems);
    const Schema schema = source->schema();
    const RecordView view(schema, record);
    EXPECT_THAT(values_of<float>(view.tensor(schema.require("boxes"))),
                ElementsAre(1, 2.5F, 3, 4, 0, 0, 16, 16));
    const ImageInfo info = read_image_info(view.bytes(schema.require("image")));
    return std::pair(info.width, info.height);
  };
  std::vector<SampleProblem> problems;
  EXPECT_EQ(image_size(ExifUse::ignore, problems), std::pair(24, 16));
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[1].action, kKeptUnturned);
  problems.clear();
  EXPECT_EQ(image_size(ExifUse::apply, problems), std::pair(16, 24));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].reason, HasSubstr("EXIF orientation 6"));
}

TEST_F(CocoTest, CountsMissingPicturesBeforeAnythingIsWritten) {
  std::filesystem::remove(dir_ / "train2017/b.jpg");
  EXPECT_ERROR(open(kInstances), not_found);
  const auto source = open(kInstances, {.allow_missing = true});
  EXPECT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_EQ(source->describe(0, 0), (dir_ / "train2017/sub/a.jpg").string());
  EXPECT_THAT(source->notes(), Contains(HasSubstr("are missing: b.jpg; ffkit leaves")));
}

TEST_F(CocoTest, RefusesWhatDoesNotGoTogether) {
  EXPECT_ERROR(open(with(R"("image_id": 9)", R"("image_id": 5)")), invalid_argument);
  EXPECT_ERROR(open(with(R"("category_id": 90)", R"("category_id": 91)")), invalid_argument);
  EXPECT_ERROR(open(with(R"("id": 4)", R"("id": 9)")), invalid_argument);
  EXPECT_ERROR(open(with(R"("id": 90, "name")", R"("id": 3, "name")")), invalid_argument);
  // Captions, as COCO has them, are no annotations of objects.
  EXPECT_ERROR(open(R"({"images": [{"id": 9, "file_name": "b.jpg"}],
                        "annotations": [{"id": 1, "image_id": 9, "caption": "A toothbrush."}]})"),
               invalid_argument);
  EXPECT_ERROR(open(with(R"("image_id": 9, "category_id": 3, "bbox": [1, 2.5, 3, 4])",
                         R"("image_id": 5, "category_id": 3)")),
               invalid_argument);
  EXPECT_ERROR(open(with(R"("id": 11)", R"("id": 12)")), invalid_argument);
  EXPECT_ERROR(open(with(R"("category_id": 90,)", "")), invalid_argument);
  EXPECT_ERROR(open(with("sub/a.jpg", "../a.jpg")), unsupported);
  EXPECT_ERROR(open(with("sub/a.jpg", "/etc/passwd")), unsupported);
  EXPECT_ERROR(open("{}"), invalid_argument);
  write_file(dir_ / "annotations/instances_val.json", with("toothbrush", "brush"));
  std::filesystem::copy(dir_ / "train2017", dir_ / "val", std::filesystem::copy_options::recursive);
  EXPECT_ERROR(open(kInstances), invalid_argument);
}

TEST_F(CocoTest, RefusesDamagedFilesWithThePlace) {
  const std::string whole = kInstances;
  // However it is cut, that is noticed.
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_ERROR_CODE(open(whole.substr(0, length)), corrupt);
  }
  EXPECT_ERROR(open(whole + "x"), corrupt);
  EXPECT_ERROR(open("[1]"), corrupt);
  EXPECT_ERROR(open("\xEF\xBB\xBF" + whole), corrupt);
  EXPECT_ERROR(open("\x1F\x8B\x08" + whole), corrupt);
  EXPECT_ERROR(open(with("\"area\": 12", "\"area\": 1x2")), corrupt);
  EXPECT_ERROR(open(with("\"year\": 2017", "\"year\": 2x17")), corrupt);
  EXPECT_ERROR(open(with("[1, 2.5, 3, 4]", "[1, 2.5, 3, 4}")), corrupt);
}

TEST_F(CocoTest, SaysWhatItLooksFor) {
  EXPECT_ERROR(open_coco(dir_ / "none"), not_found);
  EXPECT_ERROR(open_coco(dir_.path()), not_found);
  std::filesystem::rename(dir_ / "train2017", dir_ / "other");
  EXPECT_ERROR(open(kInstances), not_found);
  std::filesystem::create_directory(dir_ / "images");
  std::filesystem::rename(dir_ / "other", dir_ / "images/train2017");
  EXPECT_EQ(open(kInstances)->splits()[0].num_samples, 2);
}

TEST_F(CocoTest, RefusesTablesThatAreNoLists) {
  const std::string object = R"("annotations": {"7": {"id": 7}}, "more": [)";
  EXPECT_ERROR(open(with("\"annotations\": [", object)), invalid_argument);
  EXPECT_ERROR(open(with("\"annotations\": [", R"("annot\u0061tions": null, "more": [)")),
               invalid_argument);
  EXPECT_ERROR(open(with("\"annotations\": [", R"("annotations": [7, )")), invalid_argument);
}

TEST_F(CocoTest, TakesTheLastOfMembersThatAreThereTwice) {
  std::string json = with(R"("id": 12,)", R"("id": 12, "bbox": [9, 9, 9, 9],)");
  json.insert(1, R"("images": [{"id": 9, "file_name": "none.jpg"}], "categories": 7,)");
  const auto source = open(json);
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_THAT(source->notes(),
              Contains(HasSubstr("'images' appears 2 times; ffkit uses the last one")));
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 0);
  EXPECT_EQ(values_of<float>(RecordView(schema, record).tensor(schema.require("boxes")))[0], 1);
}

TEST_F(CocoTest, TakesWhatToolsWrite) {
  std::string json = with(R"("iscrowd": 0)", R"("iscrowd": false, "score": NaN)");
  for (const auto& [what, by] :
       {std::pair{R"("file_name": "b.jpg", "width": 16)",
                  R"("coco_url": "http://x.org/sub/b.jpg?x=/1", "width": 16.0)"},
        {R"("width": 16, "height": 16, "license")", R"("height": null, "license")"},
        {R"("bbox": [0, 0, 16, 16])", R"("bbox": [])"}}) {
    json.replace(json.find(what), std::string(what).size(), by);
  }
  const auto source = open(json, {.segmentation = true});
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 of 2 pictures have no 'file_name'")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 of 2 pictures have no width and height")));
  const Schema schema = source->schema();
  for (int64_t i = 0; i < 2; ++i) {
    std::vector<SampleProblem> problems;
    const auto record = record_of(*source, 0, i, &problems);
    ASSERT_EQ(problems.size(), i == 0 ? 1U : 0U);
    if (i == 0) {
      EXPECT_EQ(problems[0].reason, "annotation 11 has no box in 'bbox'");
    }
    const RecordView view(schema, record);
    EXPECT_EQ(view.field(schema.require("width")).scalar<int64_t>(), 16);
    EXPECT_EQ(view.field(schema.require("id")).string(), i == 0 ? "b.jpg" : "sub/a.jpg");
  }
}

TEST_F(CocoTest, TakesTextsAsIds) {
  std::string json = kInstances;
  for (const char* id : {"9", "4"}) {
    for (const std::string key : {"\"id\": ", "\"image_id\": "}) {
      for (size_t at = json.find(key + id + ","); at != std::string::npos;
           at = json.find(key + id + ",")) {
        json.replace(at + key.size(), 1, fmt::format("\"{}.x\"", id));
      }
    }
  }
  const auto source = open(json);
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 0);
  EXPECT_EQ(RecordView(schema, record).field(schema.require("image_id")).string(), "9.x");
  EXPECT_ERROR(open(with(R"("image_id": 9)", R"("image_id": "9")")), invalid_argument);
}

// Roboflow's layout, and names of splits as people write them.
TEST_F(CocoTest, FindsAnnotationsBesideThePictures) {
  const std::string json = R"({"images": [{"id": 1, "file_name": "b.jpg"}]})";
  for (const char* folder : {"train", "valid", "notes"}) {
    write_file(dir_ / "export" / folder / "b.jpg", jpeg_picture(1));
    write_file(dir_ / "export" / folder / "_annotations.coco.json", json);
  }
  const auto source = open_coco(dir_ / "export");
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_EQ(source->splits()[1].name, "val");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("'valid' is taken as the split 'val'")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("its folder's name is not a split")));
  EXPECT_EQ(open_coco(dir_ / "export/valid")->splits()[0].name, "val");
  EXPECT_EQ(open_coco(dir_ / "export/notes")->splits()[0].name, "train");
  std::filesystem::copy(dir_ / "export/valid", dir_ / "export/val");
  EXPECT_ERROR(open_coco(dir_ / "export"), invalid_argument);
  write_file(dir_ / "annotations/instances_Train2017.json", kInstances);
  std::filesystem::rename(dir_ / "train2017", dir_ / "Train2017");
  EXPECT_EQ(open_coco(dir_.path())->splits()[0].name, "train2017");
}

TEST_F(CocoTest, SaysWhichSplitsAreNotThere) {
  write_file(dir_ / "export/train/b.jpg", jpeg_picture(1));
  write_file(dir_ / "export/train/_annotations.coco.json",
             R"({"images": [{"id": 1, "file_name": "b.jpg"}]})");
  std::filesystem::create_directory(dir_ / "export/test");
  EXPECT_THAT(
      open_coco(dir_ / "export")->notes(),
      Contains(HasSubstr(
          "/test: the folder has no _annotations.coco.json, so ffkit leaves this folder out")));
  std::filesystem::create_symlink("/nowhere/valid", dir_ / "export/valid");
  EXPECT_ERROR(open_coco(dir_ / "export"), not_found);
  std::filesystem::rename(dir_ / "train2017", dir_ / "away");
  std::filesystem::create_symlink("/nowhere/train", dir_ / "train2017");
  EXPECT_ERROR(open(kInstances), not_found);
}

// Elements that lie across the chunks in which the file is read.
TEST(JsonElements, AreTheSameWhereverChunksEnd) {
  const TempDir dir;
  std::string json = R"({"a": [)";
  std::vector<std::string> expected;
  for (int i = 0; json.size() < 5'000'000; ++i) {
    expected.push_back(fmt::format(R"({{"i": {}, "text": "{}\"]"}})", i,
                                   std::string(static_cast<size_t>(i * 7919 % 40'000), 'x')));
    json += (i > 0 ? ", " : "") + expected.back();
  }
  write_file(dir / "a.json", json + "], \"b\": [1, \"two\", [3]]}");
  expected.insert(expected.end(), {"1", "\"two\"", "[3]"});
  const InputFile file(dir / "a.json");
  JsonElements elements(file);
  size_t i = 0;
  for (JsonPart part = elements.next(); part != JsonPart::end; part = elements.next()) {
    if (part == JsonPart::array) continue;
    const std::string text(elements.text().data(), elements.text().size());
    ASSERT_LT(i, expected.size());
    ASSERT_EQ(text, expected[i]);
    EXPECT_EQ(elements.key(), i + 3 < expected.size() ? "a" : "b");
    std::string again(text.size(), ' ');
    file.read_at(elements.range().offset, std::as_writable_bytes(std::span(again)));
    ASSERT_EQ(again, text);
    ++i;
  }
  EXPECT_EQ(i, expected.size());
}

TEST(JsonElements, AreBounded) {
  const TempDir dir;
  write_file(dir / "a.json", R"({"a": [")" + std::string(70 << 20, 'x') + "\"]}");
  const InputFile file(dir / "a.json");
  JsonElements elements(file);
  EXPECT_EQ(elements.next(), JsonPart::array);
  EXPECT_ERROR(elements.next(), unsupported);
}

}  // namespace
}  // namespace ffkit
