#include <algorithm>

#include <ffkit/base/option_names.h>
#include <ffkit/converter/image_storage.h>

#include "base/make_error.h"

namespace ffkit {
namespace {

constexpr int kMaxSide = 65500;  // of a JPEG, as libjpeg has it

// `side` when `from` becomes `to`, rounded down.
int scaled(int side, int from, int to) {
  return static_cast<int>(std::max<int64_t>(1, int64_t{side} * to / from));
}

}  // namespace

ImageStorage as_they_are(StoreAs store, ExifUse exif) {
  if (store == StoreAs::jpeg || store == StoreAs::dct) return {.store = store, .exif = exif};
  throw error_of(ErrorCode::invalid_argument, "store is '{}', expected jpeg or dct for this source",
                 to_string(store));
}

void describe(ImageStorage& storage, PictureUse use, bool takes_exif, OptionTable& table) {
  constexpr const char* kDct =
      "dct: JPEGs in a code that is decoded about twice as fast and takes about 15 % more bytes; "
      "the original files can be restored, byte by byte";
  const bool is_all = use == PictureUse::all;
  table.group("Pictures");
  if (is_all) {
    table
        .add("max-resolution", storage.max_resolution,
             "Resizes pictures whose longer side has more than N pixels; others keep their bytes")
        .set_range_or_zero(1, kMaxSide);
    table
        .add("short-side", storage.short_side,
             "Resizes pictures whose shorter side has more than N pixels; others keep their bytes")
        .set_range_or_zero(1, kMaxSide);
    table
        .add("jpeg-quality", storage.jpeg_quality,
             "JPEG quality of pictures that are encoded again")
        .set_range(1, 100);
    table.add_choice(
        "store", storage.store,
        fmt::format(
            "jpeg: pictures keep their bytes, or become JPEG when resized; {}; raw: pixels, "
            "which are large and need no decoding; smart: {} of the pictures as pixels, "
            "the others as JPEG",
            kDct, option_name("raw_share")));
    table
        .add("raw-share", storage.raw_share,
             fmt::format("With {}: the share of pictures stored as pixels, chosen with {}",
                         option_set("store", "smart"), option_name("seed")))
        .set_range(0, 1);
    table.add("fix-odd", storage.fix_odd,
              "Turns CMYK JPEGs, PNGs and everything else that is not a plain JPEG into RGB JPEGs; "
              "DST/report.jsonl names them");
  } else if (use == PictureUse::store) {
    table.add_choice("store", storage.store, {"jpeg", "dct"},
                     fmt::format("jpeg: pictures keep their bytes; {}", kDct));
  }
  if (takes_exif || is_all) {
    table
        .add_choice(
            "exif", storage.exif, {"apply", "ignore"},
            "ignore: pixels as they are in the file, like torchvision; apply: pictures that EXIF "
            "data turn or mirror are stored upright, encoded again; DST/report.jsonl names them")
        .is_offered = takes_exif;
  }
  if (is_all) {
    table.add_choice("check-images", storage.check,
                     "Check of each picture. header: its size and kind; decode: all of its pixels");
  }
}

void validate(const ImageStorage& storage, const OptionTable& table) {
  validate(storage);
  if (storage.store != StoreAs::smart) {
    table.refuse({"raw-share"}, "works only with " + option_set("store", "smart"));
  }
  if (storage.fix_odd && storage.store == StoreAs::raw) {
    table.refuse({"fix-odd"}, fmt::format("has no effect with {}, which stores the pixels of "
                                          "every picture",
                                          option_set("store", "raw")));
  }
}

void validate(const ImageStorage& storage) {
  ImageStorage copy = storage;
  OptionTable table;
  describe(copy, PictureUse::all, true, table);
  table.check();
  if (storage.max_resolution == 0 || storage.short_side == 0) return;
  throw argument_error("short_side",
                       fmt::format("{} ({}) and {} ({}) cannot be combined; give only one of them",
                                   option_name("max_resolution"), storage.max_resolution,
                                   option_name("short_side"), storage.short_side));
}

std::map<std::string, std::string> manifest_options(const ImageStorage& storage) {
  std::map<std::string, std::string> options;
  if (storage.max_resolution != 0) {
    options["max_resolution"] = std::to_string(storage.max_resolution);
  }
  if (storage.short_side != 0) options["short_side"] = std::to_string(storage.short_side);
  if (storage.store != StoreAs::jpeg) options["store"] = to_string(storage.store);
  if (storage.store == StoreAs::smart) {
    options["raw_share"] = fmt::format("{}", storage.raw_share);
  }
  if (storage.fix_odd) options["fix_odd"] = "true";
  if (storage.exif != ExifUse::ignore) options["exif"] = to_string(storage.exif);
  if (storage.check != ImageCheck::header) options["check_images"] = to_string(storage.check);
  const bool makes_jpegs = storage.fix_odd || storage.exif == ExifUse::apply ||
                           storage.max_resolution != 0 || storage.short_side != 0;
  if (makes_jpegs && storage.store != StoreAs::raw) {
    options["jpeg_quality"] = std::to_string(storage.jpeg_quality);
  }
  return options;
}

PixelSize stored_size(const ImageStorage& storage, PixelSize size) {
  const auto [width, height] = size;
  const bool is_wide = width > height;
  const int longer = std::max(width, height);
  const int shorter = std::min(width, height);
  int new_longer = longer;
  int new_shorter = shorter;
  if (storage.max_resolution != 0 && longer > storage.max_resolution) {
    new_longer = storage.max_resolution;
    new_shorter = scaled(shorter, longer, new_longer);
  } else if (storage.short_side != 0 && shorter > storage.short_side) {
    new_shorter = storage.short_side;
    new_longer = scaled(longer, shorter, new_shorter);
  }
  return is_wide ? PixelSize{new_longer, new_shorter} : PixelSize{new_shorter, new_longer};
}

}  // namespace ffkit
