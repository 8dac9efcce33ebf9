#include <algorithm>

#include <ffkit/base/compression.h>
#include <ffkit/base/option_names.h>
#include <ffkit/converter/options.h>

#include "base/make_error.h"
#include "base/number_text.h"
#include "launch/job_place.h"

namespace ffkit {

constexpr std::string_view kPartOfEnvironment = "auto";
constexpr std::string_view kAutomatic = "auto";  // of by_files

ConvertPart parse_part(std::string_view text) {
  if (text == kPartOfEnvironment) {
    const JobPlace place = find_job_place(
        process_environment(), fmt::format("give the part as {}", option_set("part", "i/n")));
    return {.index = place.index + 1, .count = place.count, .found_by = place.found_by};
  }
  const size_t slash = std::min(text.find('/'), text.size());
  const auto index = number_of_text<int64_t>(text.substr(0, slash));
  const auto count = number_of_text<int64_t>(text.substr(std::min(slash + 1, text.size())));
  if (index && count && *index >= 1 && *index <= *count) return {.index = *index, .count = *count};
  throw error_of(ErrorCode::invalid_argument,
                 "the part is '{}', expected i/n with i from 1 to n, such as 2/8, or {}", text,
                 kPartOfEnvironment);
}

int64_t parse_by_files(std::string_view text) {
  if (text == kAutomatic) return 0;
  if (const auto num_files = number_of_text<int64_t>(text); num_files >= 1) return *num_files;
  throw error_of(ErrorCode::invalid_argument,
                 "the number of files in a group is '{}'; give 1 or more, or {}", text, kAutomatic);
}

std::string by_files_text(int64_t by_files) {
  return by_files == 0 ? std::string(kAutomatic) : std::to_string(by_files);
}

void describe(ConvertOptions& options, OptionTable& table) {
  table.group("Conversion");
  table
      .add("num-threads", options.num_threads,
           "Number of threads. 0 means one thread for each core. The output does not depend on "
           "this number")
      .set_range(0, 1024);
  table
      .add("shard-size", options.shard_bytes,
           "Size of a shard, such as 64M or 1G. The units are powers of 1024")
      .set_size()
      .set_range(1 << 20, 1LL << 40);
  table.add_choice("order", options.order, {"shuffle", "sequential"},
                   "Order of the records. With 'shuffle', the records of training splits have a "
                   "random order, which depends on " +
                       option_name("seed") +
                       ". With 'sequential', all splits have the order of the source");
  table.add("seed", options.seed, "Seed of all random choices, a number from 0 to 2^64-1");
  table.add_choice("bad-samples", options.bad_samples, {"fail", "skip", "keep"},
                   "Action if a sample cannot be read. 'fail' ends the conversion with an error. "
                   "'skip' leaves out the sample (in texts, the document). 'keep' stores the bytes "
                   "of the sample as they are. DST/report.jsonl lists each bad sample");
  table
      .add("zstd", options.zstd_level,
           "Level of zstd that compresses each record. Level 1 is fast, level 22 gives the "
           "smallest records, and levels from -7 to -1 are even faster than 1. 0 means no "
           "compression. JPEG pictures do not become smaller")
      .set_range(-7, 22);
  table
      .add(
          "zstd-dictionary", options.zstd_dictionary_bytes,
          "With " + option_name("zstd") +
              ", ffconvert makes a dictionary of this size from the first records of each split, "
              "so that small records become smaller. The usual size is 112K. 0 means no dictionary")
      .set_size()
      .set_range_or_zero(256, kMaxDictionaryBytes);
  table.add_choice(
      "read", options.read,
      "How ffconvert reads archives. 'direct' reads each picture when ffconvert converts the "
      "picture. 'gather' reads each archive once from front to back and needs temporary files in "
      "DST, which is useful for slow disks. 'auto' measures which way is faster");
  table
      .add_words(
          "part",
          [&options] {
            return options.part.count == 1
                       ? std::string()
                       : fmt::format("{}/{}", options.part.index, options.part.count);
          },
          [&options](const std::string& text) { options.part = parse_part(text); },
          "Makes only part i of n, so that n machines can share a conversion. With 'auto', i and n "
          "come from the Slurm array, srun, mpirun or torchrun. If the parts have separate "
          "folders, 'ffconvert merge DST PART...' joins the parts. If you give 'auto', or if DST "
          "is an address, all parts have the same DST, and 'ffconvert merge DST' joins the parts")
      .set_type_name("i/n")
      .set_default("the whole");
  table.add("merge-when-complete", options.merge_when_complete,
            "With " + option_name("part") +
                ", all parts have the same DST, and the part that ends last joins all parts. The "
                "result is the same as on one machine");
  table
      .add_words(
          "by-files",
          [&options] {
            return options.by_files ? by_files_text(*options.by_files) : std::string();
          },
          [&options](const std::string& text) { options.by_files = parse_by_files(text); },
          "Lists only the files of the source, and converts the files in groups of N. This needs "
          "less memory if there are very many samples, because only one group is in memory. With "
          "'auto', a group has about 128 MiB, or the size of " +
              option_name("shard_size") +
              " if this size is smaller. ffconvert shuffles the files, and the samples within each "
              "group. The first group determines the fields")
      .set_type_name("auto|N")
      .set_default("all samples are listed at once");
  table
      .add("only", options.only,
           "Text file with one id on each line. ffconvert converts only the samples with these "
           "ids, which are values of the field 'id', and counts the ids that no sample has")
      .set_default("all samples");
  table
      .add("max-record", options.max_record_bytes,
           "Limit for the size of a record. ffconvert refuses a larger record. Programs that read "
           "records of more than 256M also need this option")
      .set_size()
      .set_range(1, 1LL << 60);
  table.add("license", options.attribution.license,
            "License of the data, such as \"CC BY 4.0\". The manifest stores this text, and "
            "'ffinspect info' shows the text");
  table.add(
      "data-source", options.attribution.source,
      "Origin of the data, such as an address, a paper or a person. The manifest stores this text");
  table.add("note", options.attribution.note,
            "Further notes on the data. The manifest stores this text");
  table.add("resume", options.resume,
            "Continues an interrupted run of the same command; starts a new run if DST is empty. "
            "Without this option, ffconvert first removes unfinished files in DST");
}

void validate(const ConvertOptions& options) {
  check_options(options);
  if (options.max_bytes_in_flight < (1LL << 20)) {
    throw argument_error("max_bytes_in_flight",
                         fmt::format("the memory for samples is {} bytes, expected 1 MiB or more",
                                     options.max_bytes_in_flight));
  }
  const ConvertPart& part = options.part;
  if (part.count < 1 || part.index < 1 || part.index > part.count) {
    throw argument_error("part", fmt::format("the part is {}/{}, expected i/n with i from 1 to n",
                                             part.index, part.count));
  }
  if (options.by_files && *options.by_files < 0) {
    throw argument_error(
        "by_files", fmt::format("a group has {} files, expected 1 or more", *options.by_files));
  }
  if (options.by_files && (!options.only.empty() || options.only_ids)) {
    throw argument_error("by_files",
                         fmt::format("{} and {} cannot be combined, because ffkit finds ids only "
                                     "in a list of all samples; leave out one of these options",
                                     option_name("by_files"), option_name("only")));
  }
  if (!options.only.empty() && options.only_ids) {
    throw argument_error("only", "give either ids or a file with ids, but not both");
  }
  if (options.zstd_dictionary_bytes != 0 && options.zstd_level == 0) {
    throw argument_error(
        "zstd_dictionary",
        "a zstd dictionary works only with compressed records; also give a zstd level");
  }
}

void validate(const ConvertOptions& options, const OptionTable& table) {
  validate(options);
  if (table.is_given("only") && options.only.empty()) {
    throw argument_error("only", option_name("only") + ": the value is empty; name a file");
  }
  if (!options.merge_when_complete || table.is_given("part")) return;
  throw argument_error("merge_when_complete",
                       fmt::format("there are no parts to merge without {}; give it as i/n or "
                                   "auto",
                                   option_name("part")));
}

}  // namespace ffkit
