#include <ffkit/converter/source_kind.h>
#include <ffkit/sources/pairs.h>

#include "encode_for_test.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

// A PNG of `size` x `size` pixels of the number `value`.
std::string mask_png(uint8_t value, int size = 16,
                     const testing::PngKind& kind = {.color_type = PNG_COLOR_TYPE_GRAY}) {
  const auto channels = static_cast<size_t>(kind.color_type == PNG_COLOR_TYPE_RGB ? 3 : 1);
  const auto side = static_cast<size_t>(size);
  const auto png =
      testing::encode_png_as(size, size, std::vector<uint8_t>(side * side * channels, value), kind);
  return {reinterpret_cast<const char*>(png.data()), png.size()};
}

// The ids of a split.
std::vector<std::string> pair_ids(const Source& source, size_t split = 0) {
  const Schema schema = source.schema();
  std::vector<std::string> ids;
  for (int64_t i = 0; i < source.splits().at(split).num_samples; ++i) {
    const auto record = record_of(source, split, i);
    ids.emplace_back(RecordView(schema, record).string(schema.require("id")));
  }
  return ids;
}

std::vector<std::string> pair_splits(const Source& source) {
  std::vector<std::string> names;
  for (const SourceSplit& split : source.splits()) names.push_back(split.name);
  return names;
}

class PairsTest : public ::testing::Test {
 protected:
  void add(const std::string& picture, const std::string& mask, uint8_t value = 1) {
    write_file(dir_ / picture, jpeg_picture(value));
    write_file(dir_ / mask, mask_png(value));
  }
  PairsOptions options() const {
    return {.root = dir_.path(), .folders = {{"image", "pictures"}, {"mask", "masks"}}};
  }
  TempDir dir_;
};

TEST_F(PairsTest, TakesTheFilesBytesAndPairsThemByName) {
  add("pictures/b.JPG", "masks/b.png", 7);
  add("pictures/sub/a.x.jpeg", "masks/sub/a.x.PNG", 8);
  write_file(dir_ / "pictures/.hidden.jpg", "x");
  write_file(dir_ / "masks/readme.txt", "x");
  const auto source = open_pairs(options());
  EXPECT_THAT(pair_splits(*source), ElementsAre("train"));
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_THAT(pair_ids(*source), ElementsAre("b.JPG", "sub/a.x.jpeg"));
  EXPECT_THAT(source->notes(),
              ElementsAre(HasSubstr("1 file was left out"), HasSubstr("1 file was left out")));
  const Schema schema = source->schema();
  ASSERT_EQ(schema.fields.size(), 3U);
  EXPECT_EQ(schema.fields[1].name, "mask");
  EXPECT_EQ(schema.fields[1].type, FieldType::image);
  const auto record = record_of(*source, 0, 0);
  const RecordView view(schema, record);
  EXPECT_EQ(text_of(view.bytes(0)), jpeg_picture(7));
  EXPECT_EQ(text_of(view.bytes(1)), mask_png(7));
  EXPECT_EQ(source->splits()[0].num_bytes,
            static_cast<int64_t>(jpeg_picture(7).size() + jpeg_picture(8).size() +
                                 mask_png(7).size() + mask_png(8).size()));
}

TEST_F(PairsTest, RefusesNamesWithoutAllFilesUnlessTheyAreSkipped) {
  add("pictures/a.jpg", "masks/a.png");
  for (const char* name : {"b", "c", "d"}) {
    write_file(dir_ / (std::string("pictures/") + name + ".jpg"), jpeg_picture(1));
  }
  write_file(dir_ / "masks/z.png", mask_png(1));
  EXPECT_ERROR(open_pairs(options()), not_found, .path = dir_ / "pictures", .subject = source);
  PairsOptions skipping = options();
  skipping.skip_unpaired = true;
  const auto source = open_pairs(skipping);
  EXPECT_THAT(pair_ids(*source), ElementsAre("a.jpg"));
  EXPECT_THAT(
      source->notes(),
      ElementsAre(HasSubstr(
          "4 of 5 names lack a file in one of the folders: 'b' has no mask, 'c' has no mask, "
          "'d' has no mask, ...; ffkit leaves out these names")));
}

TEST_F(PairsTest, RefusesFoldersThatShareNoName) {
  add("pictures/a_img.jpg", "masks/a_mask.png");
  EXPECT_ERROR(open_pairs(options()), not_found);
  PairsOptions named = options();
  named.suffixes = {{"image", "_img"}, {"mask", "_mask"}};
  write_file(dir_ / "masks/a_color.png", mask_png(1));
  const auto source = open_pairs(named);
  EXPECT_THAT(pair_ids(*source), ElementsAre("a_img.jpg"));
  EXPECT_THAT(source->notes(),
              ElementsAre(HasSubstr("1 picture was left out of 'mask': its name does not end in "
                                    "'_mask' before its ending")));
  named.suffixes["mask"] = "_ids";
  EXPECT_ERROR(open_pairs(named), not_found);
}

TEST_F(PairsTest, TellsFieldsOfOneFolderApartByTheirEndings) {
  for (const char* name : {"a", "b"}) {
    add(std::string("all/") + name + ".JPG", std::string("all/") + name + ".png");
    write_file(dir_ / "all" / (std::string(name) + "_ids.png"), mask_png(5));
  }
  const PairsOptions one{.root = dir_ / "all",
                         .folders = {{"image", "."}, {"mask", "."}, {"ids", "."}},
                         .suffixes = {{"image", ".jpg"}, {"mask", ".png"}, {"ids", "_ids.png"}},
                         .skip_unpaired = true};
  const auto source = open_pairs(one);
  EXPECT_THAT(pair_ids(*source), ElementsAre("a.JPG", "b.JPG"));
  EXPECT_THAT(source->notes()[0], HasSubstr("4 pictures were left out of 'image': their names do "
                                            "not end in '.jpg'"));
  const auto record = record_of(*source, 0, 0);
  EXPECT_EQ(text_of(RecordView(source->schema(), record).bytes(2)), mask_png(5));
}

TEST_F(PairsTest, RefusesTwoFilesOfOneName) {
  add("pictures/a.jpg", "masks/a.png");
  write_file(dir_ / "pictures/a.png", mask_png(1));
  EXPECT_ERROR(open_pairs(options()), invalid_argument);
}

TEST_F(PairsTest, RefusesFoldersThatAreNotThere) {
  add("pictures/a.jpg", "masks/a.png");
  PairsOptions wrong = options();
  wrong.folders[1].folder = "labels";
  EXPECT_ERROR(open_pairs(wrong), not_found);
  write_file(dir_ / "labels", "x");
  EXPECT_ERROR(open_pairs(wrong), not_found);
  fs::create_directory(dir_ / "empty");
  wrong.folders[1].folder = "empty";
  EXPECT_ERROR(open_pairs(wrong), not_found);
}

TEST_F(PairsTest, RefusesOptionsThatNoDataMakeRight) {
  add("pictures/a.jpg", "masks/a.png");
  const auto with = [this](const auto& change) {
    PairsOptions changed = options();
    change(changed);
    return open_pairs(changed);
  };
  using O = PairsOptions;
  EXPECT_ERROR(with([](O& o) { o.folders.pop_back(); }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.folders[1].field = "image"; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.folders[1].field = "id"; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.folders[1].field = ""; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.folders[1].folder = ""; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.suffixes["depth"] = "_d"; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.panoptic = {"image"}; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.layout = "kitti"; }), invalid_argument);
  EXPECT_ERROR(with([](O& o) {
                 o.layout = "voc";
                 o.root.clear();
               }),
               invalid_argument);
  EXPECT_ERROR(with([](O& o) { o.splits = {"val", "val"}; }), invalid_argument);
}

TEST_F(PairsTest, TakesFoldersThatAreNamedAsSplits) {
  add("pictures/train/x/a.jpg", "masks/train/x/a.png");
  add("pictures/Validation/a.jpg", "masks/Validation/a.png");
  const auto source = open_pairs(options());
  EXPECT_THAT(pair_splits(*source), ElementsAre("val", "train"));
  EXPECT_THAT(pair_ids(*source, 0), ElementsAre("a.jpg"));
  EXPECT_THAT(pair_ids(*source, 1), ElementsAre("x/a.jpg"));
  EXPECT_THAT(source->notes(), ElementsAre(HasSubstr("Validation: is the split 'val'")));
  // What is not wanted may be incomplete.
  write_file(dir_ / "pictures/test/b.jpg", jpeg_picture(1));
  PairsOptions wanted = options();
  wanted.splits = {"val"};
  EXPECT_THAT(pair_splits(*open_pairs(wanted)), ElementsAre("val"));
  wanted.splits = {"dev"};
  EXPECT_ERROR(open_pairs(wanted), not_found);
  EXPECT_ERROR(open_pairs(options()), not_found);
  fs::remove_all(dir_ / "pictures/test");
  write_file(dir_ / "pictures/more/b.jpg", jpeg_picture(1));
  EXPECT_ERROR(open_pairs(options()), invalid_argument);
  fs::remove_all(dir_ / "pictures/more");
  add("pictures/val/a.jpg", "masks/val/a.png");
  EXPECT_ERROR(open_pairs(options()), invalid_argument);
}

TEST_F(PairsTest, CallsOneSplitAfterItsFolderOrAsItIsNamed) {
  add("val/pictures/a.jpg", "val/masks/a.png");
  PairsOptions one = options();
  one.root = dir_ / "val";
  EXPECT_THAT(pair_splits(*open_pairs(one)), ElementsAre("val"));
  one.splits = {"monday"};
  EXPECT_THAT(pair_splits(*open_pairs(one)), ElementsAre("monday"));
  one.splits = {"monday", "tuesday"};
  EXPECT_ERROR(open_pairs(one), not_found);
  one.splits = {"mon/day"};
  EXPECT_ERROR(open_pairs(one), invalid_argument);
}

TEST_F(PairsTest, TakesTheNamesOfAListInItsOrder) {
  for (const char* name : {"a", "b", "c"}) {
    add(std::string("pictures/") + name + ".jpg", std::string("masks/") + name + ".png");
  }
  write_file(dir_ / "pictures/alone.jpg", jpeg_picture(1));
  write_file(dir_ / "lists/valid.txt", "c.jpg\r\n\na \n");
  write_file(dir_ / "lists/mine.txt", "b");
  PairsOptions listed = options();
  listed.lists = {dir_ / "lists/valid.txt", "lists/mine.txt"};
  const auto source = open_pairs(listed);
  EXPECT_THAT(pair_splits(*source), ElementsAre("val", "mine"));
  EXPECT_THAT(pair_ids(*source), ElementsAre("c.jpg", "a.jpg"));
  ASSERT_EQ(source->inputs(0).size(), 1U);
  EXPECT_EQ(source->inputs(0)[0].name, "valid.txt");
  listed.splits = {"mine"};
  EXPECT_THAT(pair_splits(*open_pairs(listed)), ElementsAre("mine"));
  listed.splits = {"train"};
  EXPECT_ERROR(open_pairs(listed), not_found);
  listed.splits = {};
  const auto list_of = [&](const std::string& text) {
    write_file(dir_ / "lists/mine.txt", text);
    return open_pairs(listed);
  };
  EXPECT_ERROR(list_of("a\nd\ne\n"), not_found, .path = dir_ / "lists/mine.txt");
  EXPECT_ERROR(list_of("a\nb\na\n"), invalid_argument);
  EXPECT_ERROR(list_of("\n"), not_found);
  EXPECT_ERROR(list_of("a\nalone\n"), not_found);
  listed.skip_unpaired = true;
  EXPECT_THAT(pair_ids(*list_of("a\nalone\n"), 1), ElementsAre("a.jpg"));
  EXPECT_ERROR(list_of("alone\n"), not_found);
  listed.lists[1] = dir_ / "lists/val.txt";
  write_file(dir_ / "lists/val.txt", "b");
  EXPECT_ERROR(open_pairs(listed), invalid_argument);
}

TEST_F(PairsTest, KnowsPublishedLayouts) {
  for (const char* split : {"train", "val"}) {
    const std::string name = std::string(split) + "/ulm/ulm_000000_000019";
    add("city/leftImg8bit/" + name + "_leftImg8bit.png",
        "city/gtFine/" + name + "_gtFine_labelIds.png");
    write_file(dir_ / "city/gtFine" / (name + "_gtFine_instanceIds.png"), mask_png(9));
    write_file(dir_ / "city/gtFine" / (name + "_gtFine_polygons.json"), "{}");
  }
  PairsOptions city{.layout = "cityscapes", .root = dir_ / "city"};
  auto source = open_pairs(city);
  EXPECT_THAT(pair_splits(*source), ElementsAre("train", "val"));
  EXPECT_THAT(pair_ids(*source), ElementsAre("ulm/ulm_000000_000019_leftImg8bit.png"));
  city.folders = {{"instances", "gtFine"}};
  city.suffixes = {{"instances", "_gtFine_instanceIds"}};
  source = open_pairs(city);
  const auto record = record_of(*source, 0, 0);
  EXPECT_EQ(text_of(RecordView(source->schema(), record).bytes(2)), mask_png(9));

  add("ade/images/training/ADE_1.jpg", "ade/annotations/training/ADE_1.png");
  source = open_pairs({.layout = "ade20k", .root = dir_ / "ade"});
  EXPECT_THAT(pair_splits(*source), ElementsAre("train"));

  add("voc/JPEGImages/2007_1.jpg", "voc/SegmentationClass/2007_1.png");
  add("voc/JPEGImages/2007_2.jpg", "voc/SegmentationClass/2007_2.png");
  write_file(dir_ / "voc/JPEGImages/2007_3.jpg", jpeg_picture(1));
  write_file(dir_ / "voc/ImageSets/Segmentation/train.txt", "2007_2\n");
  write_file(dir_ / "voc/ImageSets/Segmentation/val.txt", "2007_1\n");
  write_file(dir_ / "voc/ImageSets/Segmentation/trainval.txt", "2007_2\n2007_1\n");
  PairsOptions voc{.layout = "voc", .root = dir_ / "voc"};
  EXPECT_THAT(pair_splits(*open_pairs(voc)), ElementsAre("train", "val"));
  voc.splits = {"trainval"};
  EXPECT_THAT(pair_ids(*open_pairs(voc)), ElementsAre("2007_2.jpg", "2007_1.jpg"));
  voc.splits = {"test"};
  EXPECT_ERROR(open_pairs(voc), not_found);
  fs::remove_all(dir_ / "voc/ImageSets/Segmentation");
  fs::create_directory(dir_ / "voc/ImageSets/Segmentation");
  voc.splits = {};
  EXPECT_ERROR(open_pairs(voc), not_found);
}

TEST_F(PairsTest, MakesBadSamplesOfMasksWithOtherNumbers) {
  add("pictures/a.jpg", "masks/a.png");
  const auto read_with = [this](const std::string& mask) {
    write_file(dir_ / "masks/a.png", mask);
    const auto source = open_pairs(options());
    (void)record_of(*source, 0, 0);
  };
  read_with(mask_png(3, 16,
                     {.color_type = PNG_COLOR_TYPE_PALETTE, .palette = std::vector<png_color>(9)}));
  const fs::path mask = dir_ / "masks/a.png";
  EXPECT_ERROR(read_with(jpeg_picture(1)), unsupported, .path = mask);
  EXPECT_ERROR(read_with(mask_png(1, 16, {})), unsupported, .path = mask);
  EXPECT_ERROR(read_with(mask_png(1, 8)), unsupported, .path = mask);
  EXPECT_ERROR(read_with("no picture"), unsupported, .path = mask);
  PairsOptions panoptic = options();
  panoptic.panoptic = {"mask"};
  write_file(dir_ / "masks/a.png", mask_png(1, 16, {}));
  (void)record_of(*open_pairs(panoptic), 0, 0);
  write_file(dir_ / "masks/a.png", mask_png(1));
  EXPECT_ERROR(record_of(*open_pairs(panoptic), 0, 0), unsupported, .path = mask);
}

TEST_F(PairsTest, TreatsBadMasksAsItIsTold) {
  add("pictures/a.jpg", "masks/a.png");
  add("pictures/b.jpg", "masks/b.png");
  write_file(dir_ / "masks/b.png", mask_png(1, 8));
  const auto source = open_pairs(options());
  const ConvertSummary skipped =
      convert(*source, dir_ / "skipped", {.bad_samples = BadSamples::skip});
  EXPECT_EQ(skipped.num_records(), 1);
  const ConvertSummary kept = convert(*source, dir_ / "kept", {.bad_samples = BadSamples::keep});
  EXPECT_EQ(kept.num_records(), 2);
  EXPECT_EQ(kept.num_reported, 1);
}

TEST_F(PairsTest, FollowsLinksAndMakesABadSampleOfALinkToNothing) {
  add("store/a.jpg", "masks/a.png");
  fs::create_directories(dir_ / "pictures");
  fs::create_symlink("../store/a.jpg", dir_ / "pictures/a.jpg");
  EXPECT_THAT(pair_ids(*open_pairs(options())), ElementsAre("a.jpg"));
  fs::remove(dir_ / "store/a.jpg");
  const auto source = open_pairs(options());
  EXPECT_ERROR(record_of(*source, 0, 0), unsupported);
}

TEST_F(PairsTest, TellsChangedFilesApart) {
  add("pictures/a.jpg", "masks/a.png");
  const SampleIdentity before = open_pairs(options())->identity(0, 0);
  write_file(dir_ / "masks/a.png", mask_png(1, 8));
  const SampleIdentity after = open_pairs(options())->identity(0, 0);
  EXPECT_EQ(before.name, after.name);
  EXPECT_NE(before.content, after.content);
  EXPECT_NE(before.modified, after.modified);
}

TEST_F(PairsTest, RefusesNamesThatAreNoUtf8AsBadSamples) {
  add("pictures/\xff.jpg", "masks/\xff.png");
  const auto source = open_pairs(options());
  EXPECT_ERROR_CODE(record_of(*source, 0, 0), unsupported);
}

}  // namespace
}  // namespace ffkit
