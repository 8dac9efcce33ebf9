// IdList: the ids that a conversion was asked for (ConvertOptions::only, only_ids).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ffkit/converter/options.h>

namespace ffkit {

// Of Manifest::options: IdList::summary() of the choice that the samples were taken by.
inline constexpr const char* kOnly = "only";

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

// Nothing where all samples are asked for. Reads the file. Throws Error(invalid_argument) for a
// list without ids and for a file that is no UTF-8 text, and what opening a file throws.
std::optional<IdList> read_id_list(const ConvertOptions& options);

// "'a', 'b', 'c' and 95 more".
std::string some_ids(std::span<const std::string_view> ids);

}  // namespace ffkit
