#include "dataset/source_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct Look {
  const char* names;  // whole ones, or endings with their dot; in lower case
  std::string_view kind;
  std::string_view words;
};

// The first that fits is taken.
constexpr Look kLooks[] = {
    {"ilsvrc2012_img_train.tar ilsvrc2012_img_val.tar ilsvrc", "imagenet", "ImageNet"},
    {"v1.0-mini v1.0-trainval", "nuscenes", "nuScenes"},
    {"vocdevkit jpegimages", "voc", "Pascal VOC"},
    {"annotations", "coco", "COCO"},
    {"data.yaml", "yolo", "YOLO's labels"},
    {".mdb", "lmdb", "LMDB"},
    {".beton", "beton", "FFCV's files"},
    {".mds", "mds", "MDS shards"},
    {".rec", "recordio", "RecordIO"},
    {".tfrecord .tfrecords", "tfrecord", "TFRecord"},
    {".parquet .arrow", "parquet", "parquet or Arrow files"},
    {".tar", "webdataset", "tar files"},
    {".jsonl", "jsonl", "JSON lines"},
    {".jpg .jpeg .png .webp .bmp", "folder", "folders of pictures"},
    {".txt", "text", "texts"},
    {".bin", "litdata", "LitData's chunks"},
};
constexpr int kMostNames = 100;  // of a folder
constexpr int kMostLevels = 3;

bool fits(const Look& look, const std::string& name) {
  std::istringstream names(look.names);
  return std::any_of(std::istream_iterator<std::string>(names), {}, [&](const std::string& known) {
    // TensorFlow Datasets numbers its files behind ".tfrecord".
    return known.starts_with(".") ? name.ends_with(known) || name.find(known + "-") != name.npos
                                  : name == known;
  });
}

// The row of the table that comes first of those that the names below fit, before `best`.
const Look* first_row(const fs::path& path, int level, const Look* best) {
  std::string name = path.filename().string();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  best = std::find_if(std::begin(kLooks), best, [&](const Look& look) { return fits(look, name); });
  std::error_code error;
  if (level >= kMostLevels || !fs::is_directory(path, error)) return best;
  fs::directory_iterator entry(path, error);
  for (int i = 0; !error && entry != fs::directory_iterator() && i < kMostNames; ++i) {
    best = first_row(entry->path(), level + 1, best);
    entry.increment(error);
  }
  return best;
}

}  // namespace

std::string words_on_source(const fs::path& path) {
  const Look* row = first_row(path, 0, std::end(kLooks));
  if (row == std::end(kLooks)) return {};
  return fmt::format("it looks like {}: convert it with 'ffconvert {} {} DST'", row->words,
                     row->kind, path.string());
}

}  // namespace ffkit
