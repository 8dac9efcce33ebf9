// Labels that stand in lists beside the pictures.
#include "sources/folder/label_list.h"

#include <fmt/ranges.h>

#include <ffkit/sources/folder.h>

#include "sources_prelude.h"

namespace ffkit {
namespace {

std::vector<std::string> lines_of(const std::string& text, const LabelColumns& columns = {}) {
  const TempDir dir;
  write_file(dir / "list", text);
  std::vector<std::string> lines;
  std::vector<std::string> notes;
  const LabelList list = read_label_list(dir / "list", columns, notes);
  if (!list.classes.empty()) lines.push_back(fmt::format("{}", fmt::join(list.classes, "|")));
  for (const NamedLabels& line : list.lines) {
    lines.push_back(fmt::format("{}: {}", line.name, fmt::join(line.labels, "+")));
  }
  if (!notes.empty()) lines.push_back(fmt::format("{} note", notes.size()));
  return lines;
}

TEST(LabelList, ReadsWhatIsPublished) {
  const auto two = ElementsAre("a.jpg: cat", "b/c.jpg: big dog");
  // Hugging Face's metadata.csv, with other columns; Kaggle's; OpenImages'.
  EXPECT_THAT(lines_of("file_name,text,label\na.jpg,\"x, \"\"y\"\"\nz\",cat\nb/c.jpg,,big dog\n"),
              two);
  EXPECT_THAT(lines_of("\xEF\xBB\xBFimage_id,breed\r\na.jpg,cat\r\nb/c.jpg,big dog\r\n"), two);
  EXPECT_THAT(lines_of("ImageID,Source,LabelName,Confidence\nx,v,/m/1,1\ny,v,/m/2,1"),
              ElementsAre("x: /m/1", "y: /m/2"));
  // The picture does not show what has confidence 0.
  EXPECT_THAT(lines_of("ImageID,Source,LabelName,Confidence\nx,v,/m/1,0\ny,v,/m/2,1"),
              ElementsAre("x: ", "y: /m/2", "1 note"));
  EXPECT_THAT(lines_of("a.jpg\tcat\nb/c.jpg\tbig dog"), two);
  // Places365 and FGVC; DTD, whose lists have no labels.
  EXPECT_THAT(lines_of("/a/x.jpg 0\n\n/b/y.jpg 12\n"), ElementsAre("/a/x.jpg: 0", "/b/y.jpg: 12"));
  EXPECT_THAT(lines_of("0034309 A300 B4\n"), ElementsAre("0034309: A300 B4"));
  EXPECT_THAT(lines_of("a/1.jpg\nb/2.jpg\n"), ElementsAre("a/1.jpg: ", "b/2.jpg: "));
  EXPECT_THAT(lines_of("{\"file_name\": \"a.jpg\", \"label\": 3}\n\n"
                       "{\"file_name\": \"b.jpg\", \"label\": null}"),
              ElementsAre("a.jpg: 3", "b.jpg: "));
  EXPECT_THAT(lines_of("p,q,r\n1,2,3", {.name = "r", .label = "p"}), ElementsAre("3: 1"));
}

TEST(LabelList, ReadsWhatPeopleWrite) {
  const auto two = ElementsAre("a.jpg: cat", "b.jpg: dog");
  EXPECT_THAT(lines_of("file,label\ra.jpg,cat\rb.jpg,dog\r"), two);
  EXPECT_THAT(lines_of("file|label\na.jpg|cat\nb.jpg|dog\n"), two);
  EXPECT_THAT(lines_of("file, label\na.jpg, \"cat\"\n  \nb.jpg, dog\n"), two);
  EXPECT_THAT(lines_of("a.jpg,cat\nb.jpg,dog\n"), two);
  // The label first; before, "0" was the picture 0.jpg, and "a.jpg" its class.
  EXPECT_THAT(lines_of("cat a.jpg\ndog b.jpg\n"), two);
  EXPECT_THAT(lines_of("0,my a.jpg\n1,b.jpg\n"), ElementsAre("my a.jpg: 0", "b.jpg: 1"));
  // A box behind the class, as tiny-imagenet's val_annotations.txt has it.
  EXPECT_THAT(lines_of("a.jpg\tcat\t0\t32\t44\t62\nb.jpg\tdog\t1\t2\t3\t4\n"), two);
  // What pandas makes of a column of whole numbers with a null.
  EXPECT_THAT(lines_of("file,label\na.jpg,10.0\nb.jpg,nan\nc.jpg,2.5\n"),
              ElementsAre("a.jpg: 10", "b.jpg: ", "c.jpg: 2.5"));
  EXPECT_THAT(lines_of("image,CAT,DOG\na,TRUE,FALSE\nb,FALSE,TRUE\n"),
              ElementsAre("CAT|DOG", "a: CAT", "b: DOG", "1 note"));
  const LabelColumns split{.has_split = true};
  EXPECT_THAT(lines_of("file,label,split\na.jpg,cat,train\nb.jpg,dog,val\n", split), two);
}

TEST(LabelList, TakesSeveralLabels) {
  const LabelColumns multi{.is_multi = true};
  EXPECT_THAT(lines_of("image,labels\na,x y\nb,\na,z", multi), ElementsAre("a: x+y+z", "b: "));
  EXPECT_THAT(lines_of("image,labels\na,x one|y\nb,z", multi), ElementsAre("a: x one+y", "b: z"));
  EXPECT_THAT(lines_of("{\"image\": \"a\", \"labels\": [\"x\", 2]}", multi), ElementsAre("a: x+2"));
  const auto lists = ElementsAre("a: x+big y", "b: big y", "c: ");
  EXPECT_THAT(lines_of("image,tags\na,\"['x', 'big y']\"\nb,['big y']\nc,[]\n", multi), lists);
  EXPECT_THAT(
      lines_of("image,tags\na,\"[\"\"x\"\", \"\"big y\"\"]\"\nb,\"[\"\"big y\"\"]\"\nc,[]\n",
               multi),
      lists);
  EXPECT_THAT(lines_of("image,tags\na,x|x\nb,y\n", multi), ElementsAre("a: x", "b: y"));
  EXPECT_ERROR(lines_of("image,label\na,x\na,y"), invalid_argument);
  EXPECT_ERROR(lines_of("{\"image\": \"a\", \"labels\": [1, 2]}"), invalid_argument);
}

TEST(LabelList, ColumnsOfZerosAndOnesAreClasses) {
  // ISIC 2018, plant pathology, and what pandas writes of get_dummies(), with a column of ids.
  EXPECT_THAT(lines_of("image,MEL,NV\na,0.0,1.0\nb,1.0,0.0\n"),
              ElementsAre("MEL|NV", "a: NV", "b: MEL", "1 note"));
  EXPECT_THAT(lines_of("image_id\trust\thealthy\na\t0\t0\r\nb\t1\t1\r\n"),
              ElementsAre("rust|healthy", "a: ", "b: rust+healthy", "1 note"));
  EXPECT_THAT(lines_of(",image,age,z,a\n0,x,40,True,False\n1,y,2,False,True\n"),
              ElementsAre("z|a", "x: z", "y: a", "1 note"));
  // Two columns are names and labels as ever; so is what is called a label.
  EXPECT_THAT(lines_of("image,MEL\na,0\nb,1\n"), ElementsAre("a: 0", "b: 1"));
  EXPECT_THAT(lines_of("image,label,x,y\na,0,1,0\n"), ElementsAre("a: 0"));
  EXPECT_THAT(lines_of("Image Index,Finding Labels,p,q\na,Mass|Edema,1,0\n", {.is_multi = true}),
              ElementsAre("a: Mass+Edema"));
  for (const char* unclear :
       {"image,a,b\nx,0,1\ny,,0\n", "image,a,b\nx,0,1\ny,1,-1\n",
        "image,a,b,c\nx,0,1,0.3\ny,1,0,0\n", "image,a,a\nx,0,1\n", "image,a,\nx,0,1\n",
        "image,a,age\nx,0,40\n", "image,a,b\nx,0,1\nx,1,0\n"}) {
    EXPECT_ERROR(lines_of(unclear), invalid_argument);
  }
}

TEST(LabelList, RefusesWhatNothingTells) {
  EXPECT_ERROR(lines_of(""), invalid_argument);
  EXPECT_ERROR(lines_of("\xFF\xFE"), invalid_argument);
  EXPECT_ERROR(lines_of("a.jpg,1,2"), invalid_argument);
  EXPECT_ERROR(lines_of("image,label\na"), invalid_argument);
  EXPECT_ERROR(lines_of("image,label\na,b", {.name = "x"}), invalid_argument);
  EXPECT_ERROR(lines_of("{\"image\": \"a\", \"label\": 1}\n[]"), invalid_argument);
  EXPECT_ERROR(lines_of("[{\"image\": \"a\", \"label\": 1}]"), invalid_argument);
  EXPECT_ERROR(lines_of("image,label\na,\"cat\nb,dog\n"), invalid_argument);
  EXPECT_ERROR(lines_of("image,label\na,\"['x', 'y']\"\n"), invalid_argument);
  EXPECT_ERROR(lines_of("image,label,split\na,cat,train\nb,dog,val\n"), invalid_argument);
  EXPECT_ERROR(lines_of("PK\x03\x04 \n"), invalid_argument);
}

class LabelledFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* file : {"pictures/1.jpg", "pictures/2.jpg", "train/3.jpg", "test/3.jpg"}) {
      write_file(dir_ / file, testing::jpeg_picture(1));
    }
  }
  std::vector<std::string> labels(const ImageFolderOptions& options) {
    const auto source = open_image_folder(dir_.path(), options);
    classes_ = source->classes();
    notes_ = source->notes();
    std::vector<std::string> all;
    for (size_t split = 0; split < source->splits().size(); ++split) {
      for (int64_t i = 0; i < source->splits()[split].num_samples; ++i) {
        const auto sample = source->identity(split, i);
        all.push_back(fmt::format("{}: {} {}", source->splits()[split].name, sample.name,
                                  static_cast<int64_t>(sample.content)));
      }
    }
    return all;
  }
  TempDir dir_;
  std::vector<std::string> classes_;
  std::vector<std::string> notes_;
};

TEST_F(LabelledFolderTest, LabelsArePositionsAmongTheClasses) {
  write_file(dir_ / "train.csv", "id,label\n1,dog\npictures/2.jpg,cat\n3,dog\n");
  EXPECT_THAT(
      labels({.labels = {"train.csv"}}),
      ElementsAre("train: pictures/1.jpg 1", "train: pictures/2.jpg 0", "train: train/3.jpg 1"));
  EXPECT_THAT(classes_, ElementsAre("cat", "dog"));
  EXPECT_THAT(notes_, Contains(HasSubstr("1 picture was left out: no list names it")));
  write_file(dir_ / "test.csv", "id,label\n3,\n");
  EXPECT_THAT(labels({.labels = {"train.csv", "test.csv"}}),
              ElementsAre("test: test/3.jpg -1", "train: pictures/1.jpg 1",
                          "train: pictures/2.jpg 0", "train: train/3.jpg 1"));
  write_file(dir_ / "classes.txt", "dog\ncow\ncat\n");
  write_file(dir_ / "some.csv", "id,label\n1,dog\n2,cat\n");
  EXPECT_THAT(labels({.classes = dir_ / "classes.txt", .labels = {"val=some.csv"}}),
              ElementsAre("val: pictures/1.jpg 0", "val: pictures/2.jpg 2"));
}

TEST_F(LabelledFolderTest, NumbersKeepTheirOrder) {
  write_file(dir_ / "train.csv", "id,label\n1,10\n2,9\n");
  EXPECT_THAT(labels({.labels = {"train.csv"}}),
              ElementsAre("train: pictures/1.jpg 1", "train: pictures/2.jpg 0"));
  EXPECT_THAT(classes_, ElementsAre("9", "10"));
}

TEST_F(LabelledFolderTest, NumbersThatPandasWroteAsRealsAreOrderedByValue) {
  write_file(dir_ / "train.csv", "id,label\n1,10.0\n2,9.0\n");
  labels({.labels = {"train.csv"}});
  EXPECT_THAT(classes_, ElementsAre("9", "10"));
  EXPECT_THAT(notes_, Contains(HasSubstr("2 pictures of 2 classes, '9', '10'")));
}

TEST_F(LabelledFolderTest, NamesMayBeOfWhereThePicturesWere) {
  const std::string here = fs::canonical(dir_.path()).string();
  for (const std::string& name :
       {here + "/pictures/1.jpg", std::string("/home/x/set/pictures/1.jpg"),
        std::string("D:\\set\\pictures\\1.jpg"), std::string("../pictures/1.jpg")}) {
    write_file(dir_ / "train.csv", "id,label\n" + name + ",cat\n2,dog\n");
    EXPECT_THAT(labels({.labels = {"train.csv"}}),
                ElementsAre("train: pictures/1.jpg 0", "train: pictures/2.jpg 1"))
        << name;
  }
  write_file(dir_ / "train.csv", "id,label\n/home/x/1.jpg,cat\n/home/x/other/2.jpg,dog\n");
  EXPECT_ERROR(labels({.labels = {"train.csv"}}), not_found);
}

TEST_F(LabelledFolderTest, APictureIsThereOnceHoweverItIsNamed) {
  write_file(dir_ / "train.csv", "id,label\n1,cat\npictures/1.jpg,cat\n2.jpg,dog\n");
  EXPECT_THAT(labels({.labels = {"train.csv"}}),
              ElementsAre("train: pictures/1.jpg 0", "train: pictures/2.jpg 1"));
  write_file(dir_ / "train.csv", "id,label\n1,cat\npictures/1.jpg,dog\n");
  EXPECT_ERROR(labels({.labels = {"train.csv"}}), invalid_argument);
}

TEST_F(LabelledFolderTest, EachSplitMayHaveAListOfOneName) {
  write_file(dir_ / "train/metadata.csv", "file_name,label\n3.jpg,a\n");
  write_file(dir_ / "test/metadata.csv", "file_name,label\n3.jpg,b\n");
  EXPECT_THAT(labels({.labels = {"metadata.csv"}}),
              ElementsAre("test: test/3.jpg 1", "train: train/3.jpg 0"));
}

TEST_F(LabelledFolderTest, AListWithoutLabelsTakesTheFolders) {
  write_file(dir_ / "b/5.jpg", testing::jpeg_picture(1));
  write_file(dir_ / "val1.txt", "pictures/1.jpg\nb/5\n");
  EXPECT_THAT(labels({.labels = {"val1.txt"}}),
              ElementsAre("val: b/5.jpg 0", "val: pictures/1.jpg 1"));
}

TEST_F(LabelledFolderTest, SeveralLabelsAreATensor) {
  write_file(dir_ / "train.csv", "id,tags\n1,x y\n2,\n");
  const auto source =
      open_image_folder(dir_.path(), {.labels = {"train.csv"}, .multi_label = true});
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 0);
  EXPECT_THAT(values_of<int64_t>(RecordView(schema, record).tensor(schema.require("labels"))),
              ElementsAre(0, 1));
  const auto bare = record_of(*source, 0, 1);
  EXPECT_THAT(RecordView(schema, bare).tensor(schema.require("labels")).shape, ElementsAre(0));
}

TEST_F(LabelledFolderTest, ColumnsAreClassesInTheirOrder) {
  write_file(dir_ / "train.csv", "image,z,b,a\n1,1,0,0\n2.jpg,0,0,1\n");
  EXPECT_THAT(labels({.labels = {"train.csv"}}),
              ElementsAre("train: pictures/1.jpg 0", "train: pictures/2.jpg 2"));
  EXPECT_THAT(classes_, ElementsAre("z", "b", "a"));
  // One row with two ones, or none, in any of the lists: all have the field of several labels.
  for (const char* row : {"1,1", "0,0"}) {
    write_file(dir_ / "val.csv", fmt::format("image,a,b\ntrain/3,{}\n", row));
    const auto source = open_image_folder(dir_.path(), {.labels = {"train.csv", "val.csv"}});
    const Schema schema = source->schema();
    const auto record = record_of(*source, 0, 1);
    EXPECT_THAT(values_of<int64_t>(RecordView(schema, record).tensor(schema.require("labels"))),
                ElementsAre(2));
    const auto several = record_of(*source, 1, 0);
    EXPECT_THAT(RecordView(schema, several).tensor(schema.require("labels")).shape,
                ElementsAre(row[0] == '1' ? 2 : 0));
  }
}

TEST_F(LabelledFolderTest, RefusesWhatDoesNotFit) {
  write_file(dir_ / "train.csv", "id,label\n1,a\n9,b\n");
  EXPECT_ERROR(labels({.labels = {"train.csv"}}), not_found);
  EXPECT_EQ(labels({.labels = {"train.csv"}, .allow_missing = true}).size(), 1U);
  write_file(dir_ / "val.csv", "id,label\n3,a\n");
  EXPECT_ERROR(labels({.labels = {"val.csv"}}), invalid_argument);
  EXPECT_ERROR(labels({.labels = {"none.csv"}}), not_found);
  write_file(dir_ / "one.csv", "id,label\n1,a\n");
  EXPECT_ERROR(labels({.labels = {"one.csv", "train=val.csv"}}), invalid_argument);
  write_file(dir_ / "classes.txt", "b\n");
  EXPECT_ERROR(labels({.classes = dir_ / "classes.txt", .labels = {"one.csv"}}), invalid_argument);
}

}  // namespace
}  // namespace ffkit
