#include "seeds/seeds.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <ffkit/format/manifest.h>
#include <ffkit/format/record.h>
#include <ffkit/format/shard_writer.h>
#include <ffkit/image/dct_picture.h>
#include <ffkit/image/image_codec.h>

#include "bmp_builder.h"
#include "encode_webp.h"
#include "nuscenes/nuscenes_tables.h"
#include "seeds/reseal.h"

namespace ffkit::fuzzing {
namespace {

namespace fs = std::filesystem;

// All field types, scalars of several widths, and lists.
Schema rich_schema() {
  return {{
      {.name = "image", .type = FieldType::image},
      {.name = "blob", .type = FieldType::bytes},
      {.name = "text", .type = FieldType::string, .column = true},
      {.name = "small", .type = FieldType::scalar, .dtype = DType::u8, .column = true},
      {.name = "number", .type = FieldType::scalar, .dtype = DType::i64, .column = true},
      {.name = "weight", .type = FieldType::scalar, .dtype = DType::f32, .column = true},
      {.name = "boxes", .type = FieldType::tensor, .dtype = DType::f32},
      {.name = "captions", .type = FieldType::list, .item = FieldType::string},
      {.name = "masks", .type = FieldType::list, .dtype = DType::i16, .item = FieldType::tensor},
  }};
}

// Field `f` of record `i`.
void set_field(RecordBuilder& builder, const Schema& schema, size_t f, int64_t i) {
  static constexpr std::array<float, 8> kNumbers = {0, 1, -1, 0.5, 3e38F, 1e-45F, 7, 8};
  static constexpr std::array<int16_t, 6> kMask = {0, 1, -1, 32767, -32768, 5};
  static constexpr std::string_view kText = "a text that is cut to a record's number of letters";
  const Field& field = schema.fields[f];
  const std::string_view part = kText.substr(0, static_cast<size_t>(i) % kText.size());
  if (field.type == FieldType::image || field.type == FieldType::bytes) {
    builder.set_bytes(f, std::as_bytes(std::span(part)));
  } else if (field.type == FieldType::string) {
    builder.set_string(f, part);
  } else if (field.type == FieldType::tensor) {
    builder.set_tensor(
        f, {.dtype = DType::f32, .shape = {2, 4}, .data = std::as_bytes(std::span(kNumbers))});
  } else if (field.type == FieldType::list && field.item == FieldType::string) {
    builder.set_list(f, std::vector<std::string_view>(static_cast<size_t>(i) % 4, part));
  } else if (field.type == FieldType::list) {
    const TensorView mask{
        .dtype = DType::i16, .shape = {2, 3}, .data = std::as_bytes(std::span(kMask))};
    builder.set_list(f, std::vector<TensorView>(static_cast<size_t>(i) % 3, mask));
  } else if (field.dtype == DType::u8) {
    builder.set_scalar<uint8_t>(f, static_cast<uint8_t>(i));
  } else if (field.dtype == DType::f32) {
    builder.set_scalar<float>(f, static_cast<float>(i) / 3);
  } else {
    builder.set_scalar<int64_t>(f, -i);
  }
}

std::vector<std::vector<std::byte>> make_records(const Schema& schema, int64_t num_records) {
  RecordBuilder builder(schema);
  std::vector<std::vector<std::byte>> records(static_cast<size_t>(num_records));
  for (int64_t i = 0; i < num_records; ++i) {
    for (size_t f = 0; f < schema.fields.size(); ++f) {
      const bool is_null = (static_cast<size_t>(i) + f) % 10 == 6;
      if (!is_null) set_field(builder, schema, f, i);
    }
    builder.encode(records[static_cast<size_t>(i)]);
  }
  return records;
}

void write_shard(const fs::path& path, const Schema& schema, int64_t num_records,
                 CompressionOptions compression = {}) {
  ShardWriter writer(path, schema,
                     {.alignment = 512, .uuid = {1, 2, 3}, .compression = std::move(compression)});
  for (const auto& record : make_records(schema, num_records)) writer.append(record);
  writer.finish();
}

// Lays a filter into the shard's header, where fuzz_shard looks for one.
void add_filter(const fs::path& path, std::string_view filter) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  std::vector<std::byte> shard(bytes.begin(), bytes.end());
  std::memcpy(shard.data() + kFilterPlace.offset, filter.data(), filter.size());
  reseal_shard(shard, {});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(shard.data()),
             static_cast<std::streamsize>(shard.size()));
}

void make_shards(const fs::path& folder) {
  fs::create_directories(folder);
  const Schema schema = rich_schema();
  write_shard(folder / "rich", schema, 9);
  add_filter(folder / "rich", "small in {1, 3..5, 7} and weight >= 0.5 and text != 'a te'");
  write_shard(folder / "zstd", schema, 9, {.level = 3});
  add_filter(folder / "zstd", "number not in {-3, -9..-5} and text < \"b\"");
  write_shard(folder / "brackets", schema, 9);
  add_filter(
      folder / "brackets",
      "not (small == 1 or \"weight\" in {nan, -inf..1e-3})and(text == 'it''s' or not number < 0)");
  const auto samples = make_records(schema, 300);
  write_shard(folder / "dictionary", schema, 9,
              {.level = 3, .dictionary = train_dictionary(samples, 1024)});
  write_shard(folder / "two_pages",
              {{{.name = "n", .type = FieldType::scalar, .dtype = DType::i64, .column = true}}},
              130);
  write_shard(folder / "one", {{{.name = "blob"}}}, 1);
  write_shard(folder / "empty", image_classification_schema(), 0);
}

void make_manifests(const fs::path& folder) {
  fs::create_directories(folder);
  Manifest manifest{.split = "train", .schema = rich_schema(), .created_by = "seed"};
  write_manifest(folder / "empty", manifest);
  manifest.classes = {"cat", "dog"};
  manifest.class_names = {"Cat", "Dog"};
  manifest.source = {{"kind", "folder"}, {"path", "/somewhere"}};
  manifest.options = {{"seed", "0"}};
  manifest.shards = {{{10, 5000, 4000, 6000, 0xDEADBEEF}, "shard-00000.ffr"},
                     {{3, 4500, 100, 100, 1}, "shard-00001.ffr"}};
  write_manifest(folder / "full", manifest);
}

// BMPs of few colours, and of 32 bits with masks.
template <typename Save>
void save_bmps(const Save& save, const std::string& size, int width, int height) {
  std::vector<uint32_t> values(static_cast<size_t>(width * height));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i % 2);
  for (const int bits : {1, 4, 8}) {
    const testing::BmpKind kind{
        .bits = bits, .top_down = bits == 4, .palette = {{0, 9, 99}, {200, 100, 50}}};
    save("bmp_" + std::to_string(bits) + "_" + size,
         testing::encode_bmp_as(width, height, values, kind));
  }
  for (const int bits : {4, 8}) {
    // The same pixels are runs of few rows: what follows them is left out.
    std::vector<std::byte> runs = testing::encode_bmp_as(
        width, height, values, {.bits = bits, .palette = {{0, 9, 99}, {200, 100, 50}}});
    runs[30] = std::byte(bits == 8 ? 1 : 2);
    save("bmp_runs_" + std::to_string(bits) + "_" + size, runs);
  }
  save("bmp_16_" + size, testing::encode_bmp_as(width, height, values, {.bits = 16}));
  save("bmp_masks_" + size,
       testing::encode_bmp_as(width, height, values,
                              {.bits = 32, .masks = {0xFF, 0xFF00, 0xFF0000}}));
}

// PPM, PGM and PBM as text and with other largest values, and an animation of one picture.
template <typename Save>
void save_odd_pictures(const Save& save, const std::string& size, int width, int height,
                       const std::vector<uint8_t>& rgb) {
  const auto bytes = [](const std::string& text) {
    const auto view = std::as_bytes(std::span(text));
    return std::vector<std::byte>(view.begin(), view.end());
  };
  const std::string sides = std::to_string(width) + " " + std::to_string(height) + "\n";
  std::string bits = "P1\n" + sides;
  std::string grey = "P2 #\n" + sides + "1000\n";
  std::string wide = "P5\n" + sides + "65535\n";
  for (size_t i = 0; i < rgb.size(); i += 3) {
    bits += rgb[i] > 99 ? '1' : '0';
    grey += std::to_string(rgb[i]) + "\n";
    wide += {static_cast<char>(rgb[i]), static_cast<char>(rgb[i + 1])};
  }
  save("pbm_" + size, bytes(bits));
  save("pgm_text_" + size, bytes(grey));
  save("pgm_16_" + size, bytes(wide));
  const auto still = testing::encode_webp(width, height, rgb);
  const std::string picture(reinterpret_cast<const char*>(still.data()) + 12, still.size() - 12);
  const auto number = [](size_t value, size_t num_bytes) {
    std::string text(num_bytes, '\0');
    for (size_t i = 0; i < num_bytes; ++i) text[i] = static_cast<char>(value >> (8 * i) & 0xFF);
    return text;
  };
  const auto side = [&](int value) { return number(static_cast<size_t>(value) - 1, 3); };
  const std::string content = "WEBPVP8X" + number(10, 4) + number(2, 4) + side(width + 2) +
                              side(height + 2) + "ANIM" + number(6, 4) + number(0, 6) + "ANMF" +
                              number(16 + picture.size(), 4) + number(1, 3) + number(1, 3) +
                              side(width) + side(height) + number(40, 4) + picture;
  save("webp_animation_" + size, bytes("RIFF" + number(content.size(), 4) + content));
}

// Pictures of several sizes. JPEG's scans end in the middle of a block, or hold one only.
void make_images(const fs::path& folder) {
  fs::create_directories(folder);
  const auto save = [&](const std::string& name, const std::vector<std::byte>& bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(33, 17), std::pair(64, 48)}) {
    std::vector<uint8_t> rgb(static_cast<size_t>(3 * width * height));
    for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<uint8_t>(i * i / 7);
    const RgbView pixels{.data = rgb.data(), .width = width, .height = height, .stride = 3 * width};
    const std::string size = std::to_string(width);
    save("jpeg_" + size, encode_jpeg(pixels, 30));
    save("fine_jpeg_" + size, encode_jpeg(pixels, 95));
    save("png_" + size, encode_png(pixels));
    // APP1 with an EXIF orientation, behind the first marker.
    constexpr std::string_view kExif(
        "\xFF\xE1\0\x1E"
        "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0",
        32);
    std::vector<std::byte> turned = encode_jpeg(pixels, 60);
    const auto exif = std::as_bytes(std::span(kExif));
    turned.insert(turned.begin() + 2, exif.begin(), exif.end());
    save("turned_jpeg_" + size, turned);
    std::vector<std::byte> ppm;
    encode_ppm(pixels, ppm);
    save("ppm_" + size, ppm);
    save("webp_" + size, testing::encode_webp(width, height, rgb));
    save("lossy_webp_" + size, testing::encode_webp(width, height, rgb, 40));
    save("bmp_" + size, testing::encode_bmp(width, height, rgb));
    save_bmps(save, size, width, height);
    save_odd_pictures(save, size, width, height, rgb);
  }
}

// Pictures in the dct code, of small and large coefficients, and their JPEGs.
void make_dcts(const fs::path& folder) {
  fs::create_directories(folder);
  for (const auto& [width, height] : {std::pair(1, 1), std::pair(33, 17), std::pair(64, 48)}) {
    std::vector<uint8_t> rgb(static_cast<size_t>(3 * width * height));
    for (size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<uint8_t>(i * i / 7);
    const RgbView pixels{.data = rgb.data(), .width = width, .height = height, .stride = 3 * width};
    for (const int quality : {10, 75, 100}) {
      const std::vector<std::byte> jpeg = encode_jpeg(pixels, quality);
      std::vector<std::byte> dct;
      if (encode_dct_picture(jpeg, dct)) std::abort();
      const std::string name = std::to_string(width) + "_" + std::to_string(quality);
      const auto save = [&](const std::string& file, const std::vector<std::byte>& bytes) {
        std::ofstream(folder / file, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
      };
      save(name, dct);
      save("jpeg_" + name, jpeg);
    }
  }
}

// Radar files of nuScenes.
void make_pcds(const fs::path& folder) {
  fs::create_directories(folder);
  for (const int num_points : {0, 1, 7}) {
    std::string file = testing::radar_pcd(num_points);
    std::ofstream(folder / ("radar_" + std::to_string(num_points)), std::ios::binary) << file;
    file.pop_back();
    std::ofstream(folder / ("whole_" + std::to_string(num_points)), std::ios::binary) << file;
  }
}

}  // namespace

void make_seeds(const fs::path& folder) {
  make_shards(folder / "fuzz_shard");
  make_manifests(folder / "fuzz_manifest");
  make_images(folder / "fuzz_image");
  make_dcts(folder / "fuzz_dct");
  make_pcds(folder / "fuzz_pcd");
  make_v1_seeds(folder / "fuzz_v1");
  make_pickle_seeds(folder / "fuzz_pickle");
  make_torch_seeds(folder / "fuzz_torch_file");
  make_imagenet_seeds(folder);
  make_source_seeds(folder);
  make_row_seeds(folder);
  make_row_file_seeds(folder);
}

}  // namespace ffkit::fuzzing
