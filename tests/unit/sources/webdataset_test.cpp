#include <zlib.h>

#include <ffkit/sources/webdataset.h>

#include "reference_python.h"
#include "sources/files/file_group.h"
#include "sources/files/shard_files.h"
#include "sources_prelude.h"

namespace ffkit {
namespace {

std::vector<std::string> field_names(const Source& source) {
  std::vector<std::string> names;
  for (const Field& field : source.schema().fields) names.push_back(field.name);
  return names;
}

// A .npy file of version 1 with header `dict`, padded as NumPy does.
std::string npy(std::string dict, const std::string& numbers, char version = 1) {
  const size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string file = std::string("\x93NUMPY") + version + '\0';
  file += static_cast<char>(dict.size() & 0xFF);
  file += static_cast<char>(dict.size() >> 8);
  if (version > 1) file += std::string(2, '\0');
  return file + dict + numbers;
}

// Whatever their extension says.
TEST(WebDataset, TakesPicturesByTheirFirstBytes) {
  const TempDir dir;
  TarBuilder builder;
  for (const char* key : {"0", "1"}) {
    builder.add(key + std::string(".raw"), jpeg_picture(1))
        .add(key + std::string(".gifs"), "GIF89a..");
  }
  write_file(dir / "0.tar", builder.finish());
  const auto source = open_webdataset(dir.path(), {});
  EXPECT_THAT(field_names(*source), ElementsAre("gifs", "image", "id"));
  const Schema schema = source->schema();
  EXPECT_EQ(schema.fields[schema.require("image")].type, FieldType::image);
  EXPECT_EQ(schema.fields[schema.require("gifs")].type, FieldType::bytes);
  const auto record = record_of(*source, 0, 1);
  EXPECT_EQ(RecordView(schema, record).field(schema.require("image")).bytes().size(),
            jpeg_picture(1).size());
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the first 'raw' is a JPEG")));
  EXPECT_THAT(source->notes(), Contains(HasSubstr("the first 'gifs' is a GIF")));
}

TEST(WebDataset, TakesIdsFromTheirMember) {
  const TempDir dir;
  write_file(dir / "0.tar", TarBuilder()
                                .add("0.txt", "a")
                                .add("0.id.txt", "cat/0001.v2.JPEG")
                                .add("b.txt", "b")
                                .finish());
  const auto source = open_webdataset(dir.path(), {.id_member = "ID.txt"});
  EXPECT_THAT(field_names(*source), ElementsAre("txt", "id"));
  const Schema schema = source->schema();
  const auto first = record_of(*source, 0, 0);
  const auto second = record_of(*source, 0, 1);
  EXPECT_EQ(RecordView(schema, first).string(1), "cat/0001.v2.JPEG");
  EXPECT_EQ(RecordView(schema, second).string(1), "b");
  // Without the option it is a field as any other.
  EXPECT_THAT(field_names(*open_webdataset(dir.path(), {.allow_missing = true})),
              ElementsAre("id/txt", "txt", "id"));
  EXPECT_ERROR(open_webdataset(dir.path(), {.id_member = "name.txt"}), invalid_argument,
               .path = dir.path().string(), .subject = source);
  write_file(dir / "0.tar", TarBuilder().add("0.txt", "a").add("0.id.txt", "").finish());
  const auto empty = open_webdataset(dir.path(), {.id_member = "id.txt"});
  EXPECT_ERROR(record_of(*empty, 0, 0), corrupt, .path = (dir / "0.tar: 0").string());
}

TEST(WebDataset, RefusesSamplesBeyondTheLimit) {
  const TempDir dir;
  write_file(dir / "0.tar", TarBuilder()
                                .add("a.txt", std::string(2000, 'a'))
                                .add("b.txt", std::string(1024, 'b'))
                                .finish());
  const auto source = open_webdataset(dir.path(), {.max_sample_bytes = 1024});
  EXPECT_ERROR(record_of(*source, 0, 0), unsupported);
  record_of(*source, 0, 1);
}

TEST(WebDataset, MakesListsOfFrames) {
  const TempDir dir;
  write_file(dir / "0.tar", TarBuilder()
                                .add("a.10.jpg", jpeg_picture(3))
                                .add("a.9.jpg", jpeg_picture(2))
                                .add("a.depth_1.png", jpeg_picture(5))
                                .add("b.frame_0001.jpg", jpeg_picture(4))
                                .add("b.depth.0007.jpg", jpeg_picture(1))
                                .finish());
  EXPECT_ERROR(open_webdataset(dir.path()), invalid_argument);
  const auto source = open_webdataset(dir.path(), {.numbered_frames = true});
  EXPECT_THAT(field_names(*source), ElementsAre("depth/frames", "frames", "id"));
  const Schema schema = source->schema();
  EXPECT_EQ(schema.fields[1].type, FieldType::list);
  EXPECT_EQ(schema.fields[1].item, FieldType::image);
  const std::vector<std::byte> record = record_of(*source, 0, 0);
  const ListView frames = RecordView(schema, record).list(1);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(text_of(frames.bytes(0)), jpeg_picture(2));
  EXPECT_EQ(text_of(frames.bytes(1)), jpeg_picture(3));
  const std::vector<std::byte> other = record_of(*source, 0, 1);
  EXPECT_EQ(text_of(RecordView(schema, other).list(1).bytes(0)), jpeg_picture(4));
  EXPECT_EQ(text_of(RecordView(schema, other).list(0).bytes(0)), jpeg_picture(1));
}

TEST(WebDataset, RefusesTwoFramesOfOneNumber) {
  const TempDir dir;
  write_file(
      dir / "0.tar",
      TarBuilder().add("a.1.jpg", jpeg_picture(3)).add("a.01.jpg", jpeg_picture(2)).finish());
  const auto source = open_webdataset(dir.path(), {.numbered_frames = true});
  EXPECT_ERROR(record_of(*source, 0, 0), invalid_argument);
}

TEST(WebDataset, ReadsPicturesWithLabels) {
  const TempDir dir;
  write_file(dir / "set-train-000001.tar",
             TarBuilder().add("n/c.JPG", jpeg_picture(3)).add("n/c.cls", " 2").finish());
  write_file(dir / "set-train-000000.tar", TarBuilder()
                                               .add("./b.jpg", jpeg_picture(1))
                                               .add("./b.cls", "0\n")
                                               .add("a.cls", "-7")
                                               .add("a.jpg", jpeg_picture(2))
                                               .finish());
  write_file(dir / "set-validation-00.tar",
             TarBuilder().add("a.jpg", jpeg_picture(4)).add("a.cls", "1").finish());
  const auto source = open_webdataset(dir.path());
  EXPECT_EQ(source->schema(), image_classification_schema());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_TRUE(source->splits()[0].is_training);
  EXPECT_EQ(source->splits()[0].num_samples, 3);
  EXPECT_EQ(source->splits()[1].name, "val");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("2 files are split 'train'")));
  const Schema schema = source->schema();
  const std::vector<std::pair<std::string, int64_t>> expected = {{"b", 0}, {"a", -7}, {"n/c", 2}};
  for (int64_t i = 0; i < 3; ++i) {
    const auto record = record_of(*source, 0, i);
    const RecordView view(schema, record);
    EXPECT_EQ(view.string(2), expected[static_cast<size_t>(i)].first);
    EXPECT_EQ(view.scalar<int64_t>(1), expected[static_cast<size_t>(i)].second);
    EXPECT_EQ(text_of(view.bytes(0)), jpeg_picture(static_cast<int>(i) + 1));
  }
  EXPECT_EQ(source->describe(0, 2), (dir / "set-train-000001.tar").string() + ": n/c");
}

TEST(WebDataset, TakesEveryKindOfMember) {
  const TempDir dir;
  const float numbers[] = {1, 2.5, -3, 4, 5, 6};
  const std::string bytes(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  const std::string file =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", bytes);
  write_file(dir / "x.tar", TarBuilder()
                                .add("s.seg.png", jpeg_picture(1))
                                .add("s.jpg", jpeg_picture(2))
                                .add("s.json", "{\"a\": 1}")
                                .add("s.txt", "gr\xC3\xBC\xC3\x9F dich")
                                .add("s.depth.npy", file)
                                .add("s.bin", std::string("\0\1", 2))
                                .add("readme", "no member")
                                .add(".hidden.jpg", "no member")
                                .add("__index__.x__", "no member")
                                .finish());
  const auto source = open_webdataset(dir / "x.tar");
  EXPECT_THAT(field_names(*source),
              ElementsAre("image", "seg/image", "bin", "depth/npy", "json", "txt", "id"));
  EXPECT_EQ(source->splits()[0].name, "train");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("3 members without a sample")));
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 0);
  const RecordView view(schema, record);
  EXPECT_EQ(text_of(view.bytes(0)), jpeg_picture(2));
  EXPECT_EQ(text_of(view.bytes(1)), jpeg_picture(1));
  EXPECT_EQ(text_of(view.bytes(2)), std::string("\0\1", 2));
  EXPECT_THAT(view.tensor(3).shape, ElementsAre(2, 3));
  EXPECT_THAT(values_of<float>(view.tensor(3)), ElementsAre(1, 2.5F, -3, 4, 5, 6));
  EXPECT_EQ(view.string(4), "{\"a\": 1}");
  EXPECT_EQ(view.string(5), "gr\xC3\xBC\xC3\x9F dich");
  EXPECT_EQ(view.string(6), "s");
}

TEST(WebDataset, KeepsTheExtensionsOfPicturesThatShareASample) {
  const TempDir dir;
  write_file(dir / "mixed/0.tar",
             TarBuilder().add("a.jpg", jpeg_picture(1)).add("b.png", jpeg_picture(2)).finish());
  EXPECT_THAT(field_names(*open_webdataset(dir / "mixed")), ElementsAre("image", "id"));
  write_file(dir / "pairs/0.tar",
             TarBuilder().add("a.jpg", jpeg_picture(1)).add("a.png", jpeg_picture(2)).finish());
  EXPECT_THAT(field_names(*open_webdataset(dir / "pairs")), ElementsAre("jpg", "png", "id"));
}

TEST(WebDataset, TakesFoldersAsSplits) {
  const TempDir dir;
  const std::string tar = TarBuilder().add("a.txt", "x").finish();
  write_file(dir / "train/0.tar", tar);
  write_file(dir / "train/1.tar", tar);
  write_file(dir / "unseen/0.tar", tar);
  const auto source = open_webdataset(dir.path());
  ASSERT_EQ(source->splits().size(), 2U);
  EXPECT_EQ(source->splits()[0].num_samples, 2);
  EXPECT_EQ(source->splits()[1].name, "unseen");
  EXPECT_THAT(source->notes(), Contains(HasSubstr("have the same key, such as 'a'")));
  write_file(dir / "0.tar", tar);
  EXPECT_ERROR(open_webdataset(dir.path()), invalid_argument);
}

TEST(WebDataset, ReadsMoreFilesThanStayOpen) {
  const TempDir dir;
  constexpr int64_t kFiles = FileGroup::kMaxOpenFiles + 5;
  for (int64_t i = 0; i < kFiles; ++i) {
    write_file(dir / fmt::format("{:05}.tar", i),
               TarBuilder().add("a.cls", std::to_string(i)).finish());
  }
  const auto source = open_webdataset(dir.path());
  ASSERT_EQ(source->splits()[0].num_samples, kFiles);
  const Schema schema = source->schema();
  for (int64_t i = 0; i < kFiles; ++i) {
    const auto record = record_of(*source, 0, i);
    EXPECT_EQ(RecordView(schema, record).scalar<int64_t>(0), i);
  }
}

TEST(WebDataset, RefusesSamplesWithOtherMembers) {
  const TempDir dir;
  write_file(dir / "0.tar",
             TarBuilder().add("a.txt", "x").add("a.cls", "1").add("b.txt", "y").finish());
  EXPECT_ERROR(open_webdataset(dir.path()), invalid_argument);
  const auto source = open_webdataset(dir.path(), {.allow_missing = true});
  EXPECT_THAT(source->notes(), Contains(HasSubstr("field 'label' is null in 1 samples")));
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 1);
  EXPECT_TRUE(RecordView(schema, record).is_null(schema.require("label")));
}

TEST(WebDataset, RefusesScatteredAndRepeatedMembers) {
  const TempDir dir;
  write_file(dir / "0.tar",
             TarBuilder().add("a.txt", "x").add("b.txt", "y").add("a.cls", "1").finish());
  EXPECT_ERROR(open_webdataset(dir.path()), invalid_argument);
  write_file(dir / "0.tar", TarBuilder().add("a.txt", "x").add("a.TXT", "y").finish());
  EXPECT_ERROR(open_webdataset(dir.path()), invalid_argument);
  write_file(dir / "0.tar", TarBuilder().add("a.cls", "1").add("a.label", "y").finish());
  EXPECT_ERROR(open_webdataset(dir.path()), unsupported);
  write_file(dir / "0.tar", TarBuilder().add("a.id", "1").finish());
  EXPECT_ERROR(open_webdataset(dir.path()), unsupported);
}

TEST(WebDataset, RefusesWhatCannotBeReadInPlace) {
  const TempDir dir;
  EXPECT_ERROR(open_webdataset(dir / "none"), not_found);
  EXPECT_ERROR(open_webdataset(dir.path()), not_found);
  write_file(dir / "0.tar", TarBuilder().add("readme", "x").finish());
  EXPECT_ERROR(open_webdataset(dir.path()), not_found);
  std::string cut = TarBuilder().add("a.txt", std::string(3000, 'x')).finish();
  cut.resize(2000);
  write_file(dir / "0.tar", cut);
  EXPECT_ERROR(open_webdataset(dir.path()), corrupt);
  std::filesystem::remove(dir / "0.tar");
  write_file(dir / "1.tar.gz", "PK\x03\x04" + std::string(600, 'x'));
  EXPECT_ERROR(open_webdataset(dir.path()), unsupported);
}

std::string gzip(const std::string& text) {
  std::string out(text.size() + 1000, '\0');
  z_stream stream{};
  constexpr int kGzip = MAX_WBITS + 16;
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// More of them than temporary files.
TEST(WebDataset, ReadsCompressedTars) {
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "k" + std::to_string(100 + i);
    const std::string tar = TarBuilder().add(name + ".txt", "text " + name).finish();
    write_file(dir / "src" / (name + (i % 3 == 0 ? ".tar" : ".tar.gz")),
               i % 4 == 0 ? tar : gzip(tar));
  }
  const auto source = open_webdataset(dir / "src", {.temporary_folder = dir / "not/there"});
  ASSERT_EQ(source->splits()[0].num_samples, 40);
  EXPECT_THAT(source->notes(), Contains(HasSubstr("30 compressed tars were decompressed into "
                                                  "temporary files of 1 MB in " +
                                                  dir.path().string())));
  const Schema schema = source->schema();
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(RecordView(schema, record_of(*source, 0, i)).string(0),
              "text k" + std::to_string(100 + i));
  }
}

TEST(WebDataset, NamesTheSampleThatIsBad) {
  const TempDir dir;
  const auto read = [&dir](const std::string& member, const std::string& data,
                           const WebDatasetOptions& options = {}) {
    write_file(dir / "0.tar", TarBuilder().add(member, data).finish());
    (void)record_of(*open_webdataset(dir.path(), options), 0, 0);
  };
  EXPECT_ERROR(read("a.cls", "cat"), invalid_argument);
  EXPECT_ERROR(read("a.cls", ""), invalid_argument);
  EXPECT_ERROR(read("a.txt", "\xFF"), corrupt);
  EXPECT_ERROR(read("a.jpg", "no picture"), unsupported);
  write_file(dir / "classes.txt", "cat\r\ndog\n");
  EXPECT_ERROR(read("a.cls", "2", {.classes = dir / "classes.txt"}), invalid_argument);
  EXPECT_THAT(open_webdataset(dir.path(), {.classes = dir / "classes.txt"})->classes(),
              ElementsAre("cat", "dog"));
  write_file(dir / "classes.txt", "cat\n\ndog\n");
  EXPECT_ERROR(read("a.cls", "1", {.classes = dir / "classes.txt"}), invalid_argument);
}

TEST(WebDataset, RefusesArraysItCannotTake) {
  const TempDir dir;
  const auto open = [&dir](const std::string& file) {
    write_file(dir / "0.tar", TarBuilder().add("a.npy", file).finish());
    return open_webdataset(dir.path());
  };
  const std::string four(4, '\0');
  EXPECT_ERROR(open("NUMPY"), corrupt);
  EXPECT_ERROR(open(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", four)),
               unsupported);
  EXPECT_ERROR(open(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", four)),
               unsupported);
  EXPECT_ERROR(open(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", four)),
               unsupported);
  EXPECT_ERROR(open(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", four)),
               corrupt);
  EXPECT_ERROR(open(npy("{'descr': '<f4', 'fortran_order': False, }", four)), corrupt);
  const std::string huge =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }";
  EXPECT_ERROR(open(npy(huge, four)), corrupt);
  // A scalar, of version 2.
  const auto source = open(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (), }", four, 2));
  EXPECT_EQ(source->schema().fields[0].dtype, DType::i32);
  write_file(
      dir / "1.tar",
      TarBuilder()
          .add("b.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", four))
          .finish());
  EXPECT_ERROR(record_of(*open_webdataset(dir.path()), 0, 1), invalid_argument);
}

TEST(WebDataset, ReadsWhatNumPySaves) {
  FFKIT_REQUIRE_REFERENCE_PYTHON();
  const TempDir dir;
  ASSERT_TRUE(testing::run_python(R"(
import io, tarfile, numpy
arrays = [numpy.arange(24).reshape(2, 3, 4).astype(t) for t in
          ['u1', 'i1', 'u2', 'i2', 'u4', 'i4', 'u8', 'i8', 'f2', 'f4', 'f8', '?']]
with tarfile.open('0.tar', 'w') as tar:
    for i, array in enumerate(arrays):
        data = io.BytesIO()
        numpy.save(data, array)
        info = tarfile.TarInfo(f'a.{i:02}.npy')
        info.size = data.tell()
        data.seek(0)
        tar.addfile(info, data)
)",
                                  dir.path()));
  const auto source = open_webdataset(dir / "0.tar");
  const Schema schema = source->schema();
  const auto record = record_of(*source, 0, 0);
  const RecordView view(schema, record);
  const DType expected[] = {DType::u8,  DType::i8,  DType::u16, DType::i16, DType::u32, DType::i32,
                            DType::u64, DType::i64, DType::f16, DType::f32, DType::f64, DType::u8};
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(schema.fields[i].dtype, expected[i]) << i;
    EXPECT_THAT(view.tensor(i).shape, ElementsAre(2, 3, 4));
  }
  EXPECT_EQ(values_of<double>(view.tensor(10))[23], 23);
  EXPECT_EQ(values_of<int16_t>(view.tensor(3))[17], 17);
}

TEST(WebDataset, ConvertsToADataSet) {
  const TempDir dir;
  TarBuilder tar;
  for (int i = 0; i < 40; ++i) {
    tar.add(std::to_string(i) + ".jpg", jpeg_picture(i))
        .add(std::to_string(i) + ".cls", std::to_string(i));
  }
  write_file(dir / "src/train-0.tar", tar.finish());
  convert(*open_webdataset(dir / "src"), dir / "dst", {});
  const Dataset dataset = Dataset::open(dir / "dst", "train");
  ASSERT_EQ(dataset.num_records(), 40);
  const std::vector<int64_t> labels = dataset.int_column("label");
  std::vector<std::byte> record;
  for (int64_t i = 0; i < 40; ++i) {
    dataset.read(i, record);
    const auto label = static_cast<int>(labels[static_cast<size_t>(i)]);
    EXPECT_EQ(text_of(RecordView(dataset.schema(), record).bytes(0)), jpeg_picture(label));
  }
}

TEST(ShardFiles, TellTheSplitByTheirNames) {
  EXPECT_EQ(split_in_name("imagenet-train-000146"), "train");
  EXPECT_EQ(split_in_name("imagenet1k-validation-00"), "val");
  EXPECT_EQ(split_in_name("c4-train.00003-of-01024"), "train");
  EXPECT_EQ(split_in_name("train2017"), "train2017");
  EXPECT_EQ(split_in_name("Test_3"), "test");
  EXPECT_EQ(split_in_name("000001"), "");
  EXPECT_EQ(split_in_name("training-camp"), "train");
  EXPECT_EQ(split_in_name("trainable"), "");
}

}  // namespace
}  // namespace ffkit
