#include "sources/coco/coco_masks.h"

#include <ffkit/sources/coco.h>

#include "image/codec/mask_decoder.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

constexpr PixelSize kSmall = {.width = 20, .height = 15};

std::vector<PixelRun> runs_of_json(const std::string& json, PixelSize size = kSmall) {
  simdjson::dom::parser parser;
  return runs_of_segmentation(parser.parse(json), size, [](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, why);
  });
}

std::vector<PixelRun> runs_of_counts(const std::string& text) {
  return runs_of_json(fmt::format(R"({{"size": [15, 20], "counts": "{}"}})", text));
}

// The texts are those of pycocotools.mask.frPyObjects([polygon], 15, 20).
TEST(CocoMasks, PolygonsHaveThePixelsOfPycocotools) {
  struct Golden {
    std::vector<double> xy;
    const char* counts;
  };
  const std::vector<Golden> goldens = {
      {{1, 2, 3, 4, 1, 4}, "a02>Ol7"},
      {{0, 0, 19, 0, 19, 14, 0, 14}, "0>100000000000000000000000000000000000?"},
      {{2.5, 1.2, 17.9, 3.4, 9.1, 13.7, 4.4, 8.8}, "^14;4M0O1O1O1O00O1O2N1O1N2O1O1Ol0"},
      {{-5, -3.5, 30, 7, 10.5, 40.25}, R"(0<32N\\20dM0000001O00001O00001O00)"},
      {{3, 3, 16, 3, 3, 12, 16, 12}, "o1170O1O010O011M031K0550KK05OM03OO010O01O10W2"},
      {{5, 5, 5, 5, 9, 5, 9, 5, 7, 11.3}, "`21>4L00MS5"},
      {{6.4, 2, 6.4, 12, 6.4, 2}, R"(\\9)"},
      {{0.5, 0.5, 1.5, 0.5, 1.5, 1.5, 0.5, 1.5}, "`01k8"}};
  for (const Golden& golden : goldens) {
    EXPECT_EQ(runs_of_polygon(golden.xy, kSmall), runs_of_counts(golden.counts)) << golden.counts;
  }
}

TEST(CocoMasks, RunsAreListsOrTexts) {
  EXPECT_THAT(runs_of_json(R"({"size": [2, 3], "counts": [1, 2, 1, 0, 0, 2]})", {3, 2}),
              ElementsAre(PixelRun{1, 3}, PixelRun{4, 6}));
  EXPECT_THAT(runs_of_json(R"({"size": [2, 3], "counts": [0, 6.0]})", {3, 2}),
              ElementsAre(PixelRun{0, 6}));
  // Texts have differences from the fourth number on, and signs.
  EXPECT_THAT(run_lengths_of_text("a02>Ol7"), ElementsAre(17, 2, 14, 1, 266));
  EXPECT_THAT(run_lengths_of_text(""), IsEmpty());
  EXPECT_THAT(runs_of_json("[]"), IsEmpty());
  EXPECT_EQ(runs_of_json("[[1, 2, 3, 4, 1, 4], [0.5, 0.5, 1.5, 0.5, 1.5, 1.5, 0.5, 1.5]]").size(),
            runs_of_counts("a02>Ol7").size() + 1);
}

TEST(CocoMasks, RefusesWhatIsNoSegmentation) {
  for (const char* json :
       {R"({"size": [15, 20], "counts": [300, 1]})", R"({"size": [15, 20], "counts": [299]})",
        R"({"size": [15, 20], "counts": [-1, 301]})", R"({"size": [15, 20], "counts": "abc"})",
        R"({"size": [15, 20], "counts": "a b"})", R"({"size": [15, 20], "counts": "PPPPPPPP0"})",
        R"({"size": [15, 20], "counts": "00000O"})", R"({"size": [15, 20], "counts": "a"})",
        R"({"size": [20, 15], "counts": [300]})", R"({"size": [15], "counts": [300]})",
        R"({"counts": [300]})", R"({"size": [15, 20]})", R"({"size": [15, 20], "counts": 300})",
        "7", "[1, 2, 3, 4, 5, 6]", "[[1, 2, 3, 4]]", "[[1, 2, 3, 4, 5, 6, 7]]",
        R"([[1, 2, 3, 4, 5, "6"]])", "[[1, 2, 3, 4, 5, 1e7]]"}) {
    EXPECT_ERROR(runs_of_json(json), invalid_argument) << json;
  }
  std::string far = "[[0, 0";
  for (int i = 0; i < 20; ++i) far += ", 1000000, 0, -1000000, 0";
  EXPECT_ERROR(runs_of_json(far + "]]"), invalid_argument);
}

// A picture of 16 x 16: a crowd, a square above it, and another square above that.
constexpr const char* kThree = R"({
  "images": [{"id": 9, "file_name": "b.jpg", "width": 16, "height": 16}],
  "annotations": [
    {"id": 1, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "iscrowd": 0,
     "segmentation": [[2, 2, 8, 2, 8, 8, 2, 8]]},
    {"id": 2, "image_id": 9, "category_id": 90, "bbox": [0, 0, 9, 9], "iscrowd": 1,
     "segmentation": {"counts": [0, 256], "size": [16, 16]}},
    {"id": 3, "image_id": 9, "category_id": 200, "bbox": [0, 0, 9, 9], "iscrowd": 0,
     "segmentation": [[5, 5, 12, 5, 12, 12, 5, 12]]},
    {"id": 4, "image_id": 9, "category_id": 3, "bbox": [0, 0, 9, 9], "segmentation": []}],
  "categories": [{"id": 90, "name": "a"}, {"id": 3, "name": "b"}, {"id": 200, "name": "c"}]
})";

class CocoMaskFieldsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Source> open(std::string json, const std::string& what = "",
                               const std::string& by = "", bool semantic = true) {
    for (size_t at = what.empty() ? std::string::npos : json.find(what); at != std::string::npos;
         at = json.find(what, at + by.size())) {
      json.replace(at, what.size(), by);
    }
    write_file(dir_ / "train2017/b.jpg", jpeg_picture(1));
    write_file(dir_ / "annotations/instances_train2017.json", json);
    return open_coco(dir_.path(), {.semantic_masks = semantic, .instance_masks = true});
  }
  TempDir dir_;
};

TEST_F(CocoMaskFieldsTest, PaintsCrowdsFirstThenTheOthersInTheirOrder) {
  for (const int last : {200, 300}) {
    const auto source = open(kThree, "200", std::to_string(last));
    const Schema schema = source->schema();
    std::vector<SampleProblem> problems;
    const auto record = record_of(*source, 0, 0, &problems);
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0].reason, "1 of its 4 annotations have no segmentation");
    const RecordView view(schema, record);
    MaskDecoder decoder;
    const auto numbers = [&](const char* field, bool is_wide) {
      const MaskView mask =
          decoder.decode(view.field(schema.require(field)).bytes(), MaskNumbers::values);
      EXPECT_EQ(mask.dtype, is_wide ? DType::u16 : DType::u8);
      EXPECT_EQ(mask.width, 16);
      EXPECT_EQ(mask.height, 16);
      std::vector<int> found;
      for (const auto& [x, y] : {std::pair{0, 0}, {3, 3}, {6, 6}, {10, 10}, {3, 10}}) {
        const ptrdiff_t at = y * mask.stride + x;
        found.push_back(is_wide ? static_cast<const uint16_t*>(mask.data)[at]
                                : static_cast<const uint8_t*>(mask.data)[at]);
      }
      return found;
    };
    EXPECT_THAT(numbers("semantic", last > 255), ElementsAre(90, 3, last, last, 90));
    EXPECT_THAT(numbers("instances", true), ElementsAre(2, 1, 3, 3, 2));
  }
}

TEST_F(CocoMaskFieldsTest, RefusesIdsThatCannotBePixels) {
  EXPECT_ERROR(open(kThree, "200", "-1"), unsupported);
  EXPECT_ERROR(open(kThree, "200", "65536"), unsupported);
  std::string bare = kThree;
  bare.replace(bare.find("\"categories\""), 12, "\"tables\"");
  EXPECT_ERROR(open(bare, "category_id", "category"), unsupported);
  EXPECT_EQ(open(kThree, "200", "0", false)->splits().size(), 1U);
}

TEST_F(CocoMaskFieldsTest, MakesABadSampleOfAPictureOfAnotherSize) {
  const auto source = open(kThree, R"("width": 16)", R"("width": 20)");
  EXPECT_ERROR(record_of(*source, 0, 0), invalid_argument);
}

// The other polygons of the annotation stay, and the other annotations, with their numbers.
TEST_F(CocoMaskFieldsTest, ABadPolygonCostsItself) {
  const std::string square = "[2, 2, 8, 2, 8, 8, 2, 8]";
  for (const char* bad :
       {"[1, 2, 3, 4]", "[]", "[1, 2, 3, 4, 5, 6, 7]", "[1, 2, 3, 4, 5, null]",
        "[1, 2, NaN, 4, 5, 6]", "[1, 2, 3, 4, 5, 1e7]", R"([1, 2, 3, 4, 5, "6"])"}) {
    for (const std::string& both : {bad + (", " + square), square + ", " + bad}) {
      const auto source = open(kThree, square, both);
      std::vector<SampleProblem> problems;
      const auto record = record_of(*source, 0, 0, &problems);
      ASSERT_EQ(problems.size(), 2U) << both;
      EXPECT_EQ(problems[0].action, kItemLeftOut);
      EXPECT_THAT(problems[0].reason, HasSubstr("annotation 1: segmentation: "));
      const auto whole = open(kThree);
      EXPECT_EQ(record, record_of(*whole, 0, 0)) << both;
    }
  }
  for (const auto& [what, bad] : std::vector<std::pair<std::string, std::string>>{
           {"[" + square + "]", "{}"},
           {"[" + square + "]", "[[]]"},
           {"[" + square + "]", "7"},
           {"[" + square + "]", square},
           {"[0, 256]", "[0, 255]"},
           {"[0, 256]", "\"abc\""},
           {R"("size": [16, 16])", R"("size": [16, 15])"}}) {
    const auto source = open(kThree, what, bad);
    std::vector<SampleProblem> problems;
    (void)record_of(*source, 0, 0, &problems);
    ASSERT_EQ(problems.size(), 2U) << bad;
    EXPECT_EQ(problems[0].action, kItemLeftOut);
  }
}

}  // namespace
}  // namespace ffkit
