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
  throw error_of(ErrorCode::invalid_argument, "store is '{}'; expected jpeg or dct for this source",
                 to_string(store));
}

void describe(ImageStorage& storage, PictureUse use, bool takes_exif, OptionTable& table) {
  constexpr const char* kDct =
      "'dct' stores JPEGs in the dct code, which ffkit decodes about twice as fast and which needs "
      "about 15 % more bytes. The original files can be restored, byte by byte";
  const bool is_all = use == PictureUse::all;
  table.group("Pictures");
  if (is_all) {
    table
        .add("max-resolution", storage.max_resolution,
             "Limit for the longer side of a picture, in pixels. If the longer side has more "
             "pixels, the picture is resized to this limit. All other pictures keep their bytes. 0 "
             "means no limit")
        .set_range_or_zero(1, kMaxSide);
    table
        .add("short-side", storage.short_side,
             "Limit for the shorter side of a picture, in pixels. If the shorter side has more "
             "pixels, the picture is resized to this limit. All other pictures keep their bytes. 0 "
             "means no limit")
        .set_range_or_zero(1, kMaxSide);
    table
        .add("jpeg-quality", storage.jpeg_quality,
             "JPEG quality of pictures that are encoded again")
        .set_range(1, 100);
    table.add_choice(
        "store", storage.store,
        fmt::format("Form of the stored pictures. 'jpeg' stores the bytes of each picture, and "
                    "stores resized pictures as JPEG. {}. 'raw' stores pixels, which are large and "
                    "need no decoding. 'smart' stores the share {} of the pictures as pixels, and "
                    "the other pictures as JPEG",
                    kDct, option_name("raw_share")));
    table
        .add("raw-share", storage.raw_share,
             fmt::format("With {}, this share of the pictures is stored as pixels. {} determines "
                         "which pictures",
                         option_set("store", "smart"), option_name("seed")))
        .set_range(0, 1);
    table.add("fix-odd", storage.fix_odd,
              "Turns CMYK JPEGs, PNGs and everything else that is not a plain JPEG into RGB JPEGs. "
              "DST/report.jsonl lists these pictures");
  } else if (use == PictureUse::store) {
    table.add_choice(
        "store", storage.store, {"jpeg", "dct"},
        fmt::format(
            "Form of the stored pictures. 'jpeg' stores the bytes of the original files. {}",
            kDct));
  }
  if (takes_exif || is_all) {
    table
        .add_choice("exif", storage.exif, {"apply", "ignore"},
                    "Use of EXIF data that turn or mirror a picture. 'ignore' stores the pixels as "
                    "they are in the file, like torchvision. 'apply' encodes such a picture again "
                    "and stores the picture upright, and DST/report.jsonl lists the picture")
        .is_offered = takes_exif;
  }
  if (is_all) {
    table.add_choice("check-images", storage.check,
                     "Check of each picture. 'header' checks the size and the kind of the picture. "
                     "'decode' also decodes all pixels");
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
