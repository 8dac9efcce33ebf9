#include "image_options.h"

#include <string>

#include <ffkit/format/error.h>

namespace ffkit {

void add_image_options(CLI::App& command, ImageStorage& storage) {
  const std::string group = "Pictures";
  command
      .add_option(
          "--max-resolution", storage.max_resolution,
          "Resize pictures whose longer side has more than N pixels; others keep their bytes")
      ->option_text("N")
      ->group(group);
  command
      .add_option(
          "--short-side", storage.short_side,
          "Resize pictures whose shorter side has more than N pixels; others keep their bytes")
      ->option_text("N")
      ->group(group);
  command.add_option("--jpeg-quality", storage.jpeg_quality, "Of what is re-encoded; 1 .. 100")
      ->option_text("Q=90")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--store", [&storage](const std::string& name) { storage.store = parse_store_as(name); },
          "jpeg: as they come, or as JPEG when resized; raw: pixels, large and fast; smart: a "
          "share raw")
      ->check(CLI::IsMember({"jpeg", "raw", "smart"}))
      ->option_text("jpeg|raw|smart")
      ->group(group);
  command
      .add_option("--raw-share", storage.raw_share,
                  "With --store smart: the share that is raw, drawn by --seed; 0 .. 1")
      ->option_text("P=0.5")
      ->group(group);
  command
      .add_flag(
          "--fix-odd", storage.fix_odd,
          "Re-encode CMYK JPEGs, PNGs and all that is no plain JPEG as RGB JPEG; DST/report.jsonl "
          "names them")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--check-images",
          [&storage](const std::string& name) { storage.check = parse_image_check(name); },
          "header: a picture's size and kind can be read; decode: all of its pixels can")
      ->check(CLI::IsMember({"header", "decode"}))
      ->option_text("header|decode")
      ->group(group);
}

void validate_image_options(const CLI::App& command, const ImageStorage& storage) {
  const auto given = [&command](const char* name) { return command.count(name) > 0; };
  const auto refuse = [&command](const std::string& reason) {
    throw CLI::ValidationError(command.get_name(), reason);
  };
  try {
    validate(storage);
  } catch (const Error& error) {
    refuse(error.what());
  }
  if (given("--raw-share") && storage.store != StoreAs::smart) {
    refuse("--raw-share serves only --store smart");
  }
  if (storage.fix_odd && storage.store == StoreAs::raw) {
    refuse(
        "--fix-odd has nothing to do with --store raw, which stores the pixels of every picture");
  }
  if (given("--jpeg-quality") && !manifest_options(storage).contains("jpeg_quality")) {
    refuse(
        "--jpeg-quality serves only pictures that are re-encoded as JPEG; give --max-resolution, "
        "--short-side "
        "or --fix-odd as well");
  }
}

}  // namespace ffkit
