#include <ffkit/sources/coco.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

constexpr const char* kPanopticJson = R"({
  "images": [{"id": 9, "file_name": "b.jpg", "width": 16, "height": 16},
             {"id": 4, "file_name": "a.jpg", "width": 16, "height": 16}],
  "annotations": [
    {"image_id": 4, "file_name": "a.png", "segments_info": [
      {"id": 263, "category_id": 1, "iscrowd": 0, "bbox": [0, 0, 16, 8], "area": 128},
      {"id": 65536, "category_id": 90, "iscrowd": 1, "bbox": [0, 8, 16, 8], "area": 100}]},
    {"image_id": 9, "file_name": "b.png", "segments_info": [
      {"id": 263, "category_id": 90, "iscrowd": 0, "bbox": [1, 2, 3, 4], "area": 12}]}],
  "categories": [{"id": 90, "name": "tree", "isthing": 0}, {"id": 1, "name": "person", "isthing": 1}]
})";

// A PNG of colours, all of the id 263.
std::string panoptic_png(int size = 16) {
  std::vector<uint8_t> rgb;
  for (int i = 0; i < size * size; ++i) rgb.insert(rgb.end(), {7, 1, 0});
  const auto png =
      encode_png({.data = rgb.data(), .width = size, .height = size, .stride = 3 * size});
  return {reinterpret_cast<const char*>(png.data()), png.size()};
}

class CocoPanopticTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      write_file(dir_ / "val2017" / (std::string(name) + ".jpg"), jpeg_picture(1));
      write_file(png(name), panoptic_png());
    }
  }
  fs::path png(const std::string& name) const {
    return dir_ / "annotations/panoptic_val2017" / (name + ".png");
  }
  std::unique_ptr<Source> open(const std::string& what = "", const std::string& by = "",
                               bool allow_missing = false) {
    std::string json = kPanopticJson;
    if (!what.empty()) json.replace(json.find(what), what.size(), by);
    write_file(dir_ / "annotations/panoptic_val2017.json", json);
    return open_coco(dir_.path(), {.panoptic = "annotations", .allow_missing = allow_missing});
  }
  TempDir dir_;
};

TEST_F(CocoPanopticTest, ReadsPngsWithTheirSegments) {
  const auto source = open();
  ASSERT_EQ(source->splits().size(), 1U);
  EXPECT_EQ(source->splits()[0].name, "val2017");
  EXPECT_THAT(source->classes(), ElementsAre("person", "tree"));
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 1);
  const RecordView view(schema, record);
  const auto field = [&](const char* name) { return view.field(schema.require(name)); };
  EXPECT_EQ(field("id").string(), "a.jpg");
  const auto bytes = field("panoptic").bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), panoptic_png());
  EXPECT_THAT(values_of<int64_t>(field("segment_ids").tensor()), ElementsAre(263, 65536));
  EXPECT_THAT(values_of<int64_t>(field("category_ids").tensor()), ElementsAre(1, 90));
  EXPECT_THAT(values_of<int64_t>(field("labels").tensor()), ElementsAre(0, 1));
  EXPECT_THAT(values_of<uint8_t>(field("iscrowd").tensor()), ElementsAre(0, 1));
  EXPECT_THAT(values_of<float>(field("area").tensor()), ElementsAre(128, 100));
  EXPECT_THAT(field("boxes").tensor().shape, ElementsAre(2, 4));
  EXPECT_EQ(source->identity(0, 1).num_bytes,
            static_cast<int64_t>(jpeg_picture(1).size() + panoptic_png().size()));
}

TEST_F(CocoPanopticTest, LeavesOutSegmentsWithoutPixels) {
  const std::string whole = R"("bbox": [0, 0, 16, 8], "area": 128)";
  for (const char* bad :
       {R"("bbox": [0, 0, 16, 8], "area": 0)", R"("bbox": [0, 0, 0, 0], "area": 128)"}) {
    const auto source = open(whole, bad);
    const Schema schema = source->schema();
    std::vector<SampleProblem> problems;
    const auto record = record_of(*source, 0, 1, &problems);
    EXPECT_THAT(
        values_of<int64_t>(RecordView(schema, record).tensor(schema.require("segment_ids"))),
        ElementsAre(65536));
    ASSERT_EQ(problems.size(), 1U) << bad;
    EXPECT_EQ(problems[0].action, kItemLeftOut);
  }
}

TEST_F(CocoPanopticTest, TakesNamedFilesOfOneSplit) {
  (void)open();
  const auto source = open_coco(dir_.path(), {.annotations = "annotations/panoptic_val2017.json",
                                              .images = "val2017",
                                              .panoptic = "annotations/panoptic_val2017"});
  EXPECT_EQ(source->splits()[0].name, "val2017");
  EXPECT_EQ(source->splits()[0].num_samples, 2);
}

TEST_F(CocoPanopticTest, RefusesMissingFilesUnlessTheyAreAllowed) {
  fs::remove(png("b"));
  EXPECT_ERROR(open(), not_found);
  const auto source = open("", "", true);
  EXPECT_EQ(source->splits()[0].num_samples, 1);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("1 of the 2 panoptic PNGs that")));
  fs::remove_all(dir_ / "annotations/panoptic_val2017");
  EXPECT_ERROR(open(), not_found);
  EXPECT_ERROR(open_coco(dir_.path(), {.panoptic = "val2017"}), not_found);
}

TEST_F(CocoPanopticTest, RefusesFilesThatAreNotPanoptic) {
  EXPECT_ERROR(open("segments_info", "segments"), invalid_argument);
  EXPECT_ERROR(open("65536", "263"), invalid_argument);
  EXPECT_ERROR(open(R"("image_id": 9)", R"("image_id": 4)"), invalid_argument);
  EXPECT_ERROR(open(R"("image_id": 9)", R"("image_id": 5)"), invalid_argument);
  EXPECT_ERROR(open(R"("a.png")", R"("../a.png")"), unsupported);
  EXPECT_ERROR(open(R"([
      {"id": 263, "category_id": 1, "iscrowd": 0, "bbox": [0, 0, 16, 8], "area": 128})",
                    "[7"),
               invalid_argument);
}

TEST_F(CocoPanopticTest, MakesBadSamplesOfOtherPngs) {
  const auto read_with = [this](const std::string& bytes) {
    write_file(png("b"), bytes);
    const auto source = open();
    (void)record_of(*source, 0, 0);
  };
  EXPECT_ERROR(read_with(panoptic_png(8)), unsupported, .path = png("b"));
  EXPECT_ERROR(read_with(jpeg_picture(1)), unsupported, .path = png("b"));
}

}  // namespace
}  // namespace ffkit
