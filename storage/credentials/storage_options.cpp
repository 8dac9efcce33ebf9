#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <ffkit/storage/storage_options.h>

#include "addresses/place.h"
#include "base/make_error.h"
#include "base/printable.h"
#include "credentials/surroundings.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct KnownOption {
  std::string_view name;
  // The variable of the environment that it stands for, in lower case; for others the name again.
  std::string_view variable;
  std::string_view schemes;      // with blanks between; empty: all
  std::string_view synonyms;     // with blanks between
  std::string_view values = {};  // with blanks between; empty: any
};

constexpr std::string_view kS3 = "s3 r2";
constexpr std::string_view kGoogle = "gs";
constexpr std::string_view kAzure = "az";
constexpr std::string_view kYesNo = "yes no";

constexpr KnownOption kOptions[] = {
    {"aws_access_key_id", "aws_access_key_id", kS3, "key access_key_id"},
    {"aws_secret_access_key", "aws_secret_access_key", kS3, "secret secret_access_key"},
    {"aws_session_token", "aws_session_token", kS3, "token session_token"},
    {"profile", "aws_profile", kS3, "profile_name"},
    {"anon", "aws_no_sign_request", kS3, "aws_skip_signature skip_signature", kYesNo},
    {"region", "aws_region", kS3, "region_name"},
    {"endpoint_url", "aws_endpoint_url_s3", "s3", "aws_endpoint_url endpoint"},
    {"endpoint_url", "r2_endpoint_url", "r2", "aws_endpoint_url endpoint"},
    {"account_id", "r2_account_id", "r2", "cloudflare_account_id"},
    {"addressing_style", "addressing_style", kS3, "", "auto path virtual"},
    {"requester_pays", "requester_pays", kS3, "", kYesNo},
    {"use_fips_endpoint", "aws_use_fips_endpoint", kS3, "", kYesNo},
    {"use_dualstack_endpoint", "aws_use_dualstack_endpoint", kS3, "", kYesNo},
    {"ca_bundle", "ca_bundle", kS3, ""},
    {"server_side_encryption", "server_side_encryption", kS3, ""},
    {"sse_kms_key_id", "sse_kms_key_id", kS3, "ssekms_key_id aws_sse_kms_key_id"},
    {"storage_class", "storage_class", kS3, ""},
    {"acl", "acl", kS3, ""},
    {"tagging", "tagging", kS3, ""},
    {"checksum", "checksum", kS3, "", "crc32c none"},
    {"gs_access_key_id", "gs_access_key_id", kGoogle, "key"},
    {"gs_secret_access_key", "gs_secret_access_key", kGoogle, "secret"},
    {"google_application_credentials", "google_application_credentials", kGoogle, "token"},
    {"anon", "gs_no_sign_request", kGoogle, "", kYesNo},
    {"user_project", "gs_user_project", kGoogle, ""},
    {"endpoint_url", "storage_emulator_host", kGoogle, "endpoint"},
    {"account_key", "azure_storage_key", kAzure, "azure_storage_account_key"},
    {"sas_token", "azure_storage_sas_token", kAzure, ""},
    {"connection_string", "azure_storage_connection_string", kAzure, ""},
    {"client_id", "azure_client_id", kAzure, ""},
    {"anon", "azure_no_sign_request", kAzure, "", kYesNo},
    {"hf_token", "hf_token", "hf", "token"},
    {"endpoint_url", "hf_endpoint", "hf", "endpoint"},
    {"retry_seconds", "ffkit_retry_seconds", "", ""},
};

// Where one of the first is an option, the environment's second ones do not count.
constexpr std::pair<std::string_view, std::string_view> kWholes[] = {
    {"aws_access_key_id aws_profile",
     "aws_access_key_id aws_secret_access_key aws_session_token aws_security_token "
     "aws_no_sign_request aws_web_identity_token_file aws_role_arn aws_role_session_name"},
    {"aws_endpoint_url_s3", "aws_ignore_configured_endpoint_urls"},
    {"r2_account_id r2_endpoint_url", "r2_account_id r2_endpoint_url"},
    {"gs_access_key_id google_application_credentials",
     "gs_access_key_id gs_secret_access_key google_application_credentials gs_no_sign_request"},
    {"azure_storage_key azure_storage_sas_token azure_storage_connection_string",
     "azure_storage_account azure_storage_key azure_storage_sas_token "
     "azure_storage_connection_string azure_no_sign_request"},
};

// What is nothing without the other.
constexpr std::pair<std::string_view, std::string_view> kNeeds[] = {
    {"aws_access_key_id", "aws_secret_access_key"}, {"aws_secret_access_key", "aws_access_key_id"},
    {"aws_session_token", "aws_access_key_id"},     {"gs_access_key_id", "gs_secret_access_key"},
    {"gs_secret_access_key", "gs_access_key_id"},   {"sse_kms_key_id", "server_side_encryption"},
};

bool is_any_of(const StorageOptions& options, std::string_view words) {
  return std::ranges::any_of(options.values,
                             [&](const auto& option) { return has_word(words, option.first); });
}

[[noreturn]] void refuse_option(const std::string& name, const std::string& why) {
  throw argument_error("storage_options",
                       fmt::format("the storage option '{}' {}", printable(name), why));
}

const KnownOption& known_option(const std::string& name, std::string_view start) {
  const std::string_view scheme = start.substr(0, start.find(':'));
  const std::string lower = in_lower_case(name);
  std::vector<std::string> known;
  for (const KnownOption& option : kOptions) {
    if (!option.schemes.empty() && !has_word(option.schemes, scheme)) continue;
    if (option.name == lower || option.variable == lower || has_word(option.synonyms, lower)) {
      return option;
    }
    known.emplace_back(option.name);
  }
  refuse_option(
      name, fmt::format("is unknown; the options for {} are {}", start, fmt::join(known, ", ")));
}

std::string checked_value(const KnownOption& option, const std::string& name,
                          const std::string& given) {
  // As with variables: a value that was read from a file may have the file's line break.
  const std::string value(trimmed(given));
  if (value.empty()) refuse_option(name, "is empty; leave it out to use the environment's value");
  if (std::ranges::any_of(value, [](unsigned char c) { return c < ' ' || c == 0x7F; })) {
    refuse_option(name, "has a line break or another control character in its value");
  }
  if (option.values == kYesNo) {
    const std::string word = in_lower_case(value);
    if (has_word("1 yes true on requester", word)) return "yes";
    if (has_word("0 no false off none", word)) return "no";
    refuse_option(name, fmt::format("is '{}'; expected yes or no", printable(value)));
  }
  if (!option.values.empty() && !has_word(option.values, in_lower_case(value))) {
    refuse_option(name,
                  fmt::format("is '{}'; expected one of: {}", printable(value), option.values));
  }
  return option.values.empty() ? value : in_lower_case(value);
}

// By the variables that they stand for.
StorageOptions checked(const StorageOptions& options, const std::string& address) {
  StorageOptions found;
  for (const auto& [name, value] : options.values) {
    const KnownOption& option = known_option(name, start_of_address(address));
    const bool is_new =
        found.values.emplace(option.variable, checked_value(option, name, value)).second;
    if (!is_new) refuse_option(name, "has two names, and both are given; give only one of them");
  }
  for (const auto& [one, other] : kNeeds) {
    if (!is_any_of(found, one) || is_any_of(found, other)) continue;
    refuse_option(std::string(one), fmt::format("needs '{}' also; give both options", other));
  }
  return found;
}

// By mark; those of addresses without one first. They are set once and stay. There is no lock,
// which a child of fork() might find locked.
std::array<std::atomic<const StorageOptions*>, 1 << 16> records;

const StorageOptions& options_of(int mark) {
  static const StorageOptions none;
  const StorageOptions* found =
      static_cast<size_t>(mark) < records.size() ? records.at(mark).load() : nullptr;
  if (found == nullptr && mark > 0) {
    throw argument_error(
        "storage_options",
        "an address contains the number of its storage options, but this process does not know "
        "this number; give the storage options together with the address");
  }
  return found == nullptr ? none : *found;
}

int mark_of(StorageOptions options) {
  auto fresh = std::make_unique<const StorageOptions>(std::move(options));
  for (size_t mark = 1; mark < records.size(); ++mark) {
    const StorageOptions* found = nullptr;
    const bool is_free = records.at(mark).compare_exchange_strong(found, fresh.get());
    if (is_free) static_cast<void>(fresh.release());
    if (is_free || *found == *fresh) return static_cast<int>(mark);
  }
  throw argument_error("storage_options", "this process has used 65,535 different storage options");
}

void require_address(const fs::path& address) {
  const Place place(address);
  if (!place.is_on_disk()) return;
  throw Error(ErrorCode::invalid_argument,
              "this place is not in a store, so it cannot have storage options",
              {.path = place.shown(),
               .subject = ErrorSubject::argument,
               .name = "storage_options",
               .remedy = "give an address such as s3://bucket/set, or leave the options out"});
}

}  // namespace

Surroundings surroundings_of_mark(int mark) {
  Surroundings surroundings = process_surroundings();
  const StorageOptions& options = options_of(mark);
  surroundings.mark = mark;
  if (is_any_of(options, "aws_access_key_id")) surroundings.giver = "the storage options";
  surroundings.variable = [options, others = surroundings.variable](const std::string& name) {
    const std::string lower = in_lower_case(name);
    if (const auto found = options.values.find(lower); found != options.values.end()) {
      return found->second;
    }
    const bool is_hidden = std::ranges::any_of(kWholes, [&](const auto& whole) {
      return has_word(whole.second, lower) && is_any_of(options, whole.first);
    });
    return is_hidden || name == lower ? std::string() : others(name);
  };
  return surroundings;
}

std::string endpoint_in_options(const std::string& address) {
  const StorageOptions& options = options_of(parse_address(address).mark);
  const auto found = std::ranges::find_if(options.values, [](const auto& option) {
    return has_word(
        "aws_endpoint_url_s3 r2_endpoint_url r2_account_id storage_emulator_host hf_endpoint",
        option.first);
  });
  return found == options.values.end() ? std::string() : found->second;
}

fs::path with_storage_options(const fs::path& address, const StorageOptions& options) {
  if (options.values.empty() && options_of(0).values.empty()) return address;
  require_address(address);
  const Place place(without_storage_options(address));
  return with_mark(place.address(), mark_of(checked(options, place.address())));
}

StorageOptions storage_options_of(const fs::path& address) {
  const Place place(address);
  if (!place.is_in_store()) return {};
  return options_of(parse_address(place.address()).mark);
}

fs::path without_storage_options(const fs::path& address) {
  return without_marks(address.native());
}

void set_storage_options(const fs::path& address, const StorageOptions& options) {
  require_address(address);
  records.front() = new StorageOptions(checked(options, Place(address).address()));
}

std::pair<StorageOptions, StorageOptions> share_storage_options(
    const fs::path& source, const fs::path& destination, const StorageOptions& options,
    const StorageOptions& source_options) {
  if (!source_options.values.empty()) require_address(source);
  if (options.values.empty() || !Place(destination).is_on_disk()) return {source_options, options};
  if (!source_options.values.empty() || Place(source).is_on_disk()) require_address(destination);
  return {options, {}};
}

}  // namespace ffkit
