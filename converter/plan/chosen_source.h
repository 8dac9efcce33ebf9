// The samples of a source that a conversion was asked for (ConvertOptions::only), as a source of
// their own: so whatever plans, reads and compares sees these alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/options.h>
#include <ffkit/converter/source.h>

namespace ffkit {

// Of Manifest::options: IdList::summary() of the choice that the samples were taken by.
inline constexpr const char* kOnly = "only";

// The ids that a conversion was asked for (ConvertOptions::only, only_ids).
struct IdList {
  std::string name;                // of the file, or what stands for it in messages
  std::vector<std::string> ids;    // sorted, each once
  std::vector<std::string> notes;  // what the user should know of the file, one sentence each

  // "98 ids, 0123456789abcdef": how many there are and a hash of them. The same for the same ids,
  // whatever their order.
  std::string summary() const;
  // The number of `id` among `ids`; nothing where it is none of them.
  std::optional<size_t> find(std::string_view id) const;
};

// Those in `file`, or those given. Throws Error(invalid_argument), about `option`, for a list
// without ids and for a file that is no UTF-8 text, and what opening a file throws.
IdList read_ids(const std::filesystem::path& file,
                const std::optional<std::vector<std::string>>& given, const char* option);

// Nothing where all samples are asked for. Reads the file. Throws Error(invalid_argument) for a
// list without ids and for a file that is no UTF-8 text, and what opening a file throws.
std::optional<IdList> read_id_list(const ConvertOptions& options);

// "'a', 'b', 'c' and 95 more".
std::string some_ids(std::span<const std::string_view> ids);

// Null where all samples are asked for. `source` must outlive what is returned. Splits without such
// a sample are left out. Samples whose ids the source does not list are read for them: in parallel,
// with options.progress; a sample that cannot be read then has no id. options.note is told how many
// samples there are, which ids are those of none or of several, and what was left out or read.
// Throws Error(invalid_argument) where no sample has such an id, for a source whose records have
// none, or refer to each other by number; and as read_id_list().
std::unique_ptr<Source> choose_samples(const Source& source, const ConvertOptions& options);

}  // namespace ffkit
