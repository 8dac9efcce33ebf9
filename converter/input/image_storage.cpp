#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include <ffkit/converter/image_storage.h>
#include <ffkit/format/error.h>

namespace ffkit {
namespace {

constexpr int kMaxSide = 65500;  // of a JPEG, as libjpeg has it

void require_side(const char* name, int value) {
  if (value < 0 || value > kMaxSide) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is {}; it must be 1 .. {}, or 0 for none", name, value, kMaxSide));
  }
}

// `side` when `from` becomes `to`, rounded down.
int scaled(int side, int from, int to) {
  return static_cast<int>(std::max<int64_t>(1, int64_t{side} * to / from));
}

}  // namespace

const char* to_string(StoreAs store) {
  switch (store) {
    case StoreAs::jpeg:
      return "jpeg";
    case StoreAs::dct:
      return "dct";
    case StoreAs::raw:
      return "raw";
    case StoreAs::smart:
      return "smart";
  }
  throw std::logic_error("unknown StoreAs");
}

StoreAs parse_store_as(std::string_view name) {
  for (const StoreAs store : {StoreAs::jpeg, StoreAs::dct, StoreAs::raw, StoreAs::smart}) {
    if (name == to_string(store)) return store;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("store is '{}'; it must be jpeg, dct, raw or smart", name));
}

const char* to_string(ImageCheck check) {
  return check == ImageCheck::header ? "header" : "decode";
}

ImageCheck parse_image_check(std::string_view name) {
  if (name == "header") return ImageCheck::header;
  if (name == "decode") return ImageCheck::decode;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the check of pictures is '{}'; it must be header or decode", name));
}

const char* to_string(ExifUse exif) {
  return exif == ExifUse::ignore ? "ignore" : "apply";
}

ExifUse parse_exif_use(std::string_view name) {
  if (name == "ignore") return ExifUse::ignore;
  if (name == "apply") return ExifUse::apply;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("exif is '{}'; it must be apply or ignore", name));
}

ImageStorage as_they_are(StoreAs store, ExifUse exif) {
  if (store == StoreAs::jpeg || store == StoreAs::dct) return {.store = store, .exif = exif};
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("store is '{}'; it must be jpeg or dct for this source", to_string(store)));
}

void validate(const ImageStorage& storage) {
  require_side("the longest side of pictures", storage.max_resolution);
  require_side("the short side of pictures", storage.short_side);
  if (storage.max_resolution != 0 && storage.short_side != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("pictures are to have a longer side of at most {} and a shorter side "
                            "of {}; give only one of the two",
                            storage.max_resolution, storage.short_side));
  }
  if (storage.jpeg_quality < 1 || storage.jpeg_quality > 100) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the JPEG quality is {}; it must be 1 .. 100", storage.jpeg_quality));
  }
  // Also refuses what is no number.
  if (!(storage.raw_share >= 0 && storage.raw_share <= 1)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the share of raw pictures is {}; it must be 0 .. 1", storage.raw_share));
  }
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
