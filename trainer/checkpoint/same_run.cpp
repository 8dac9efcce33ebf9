#include "checkpoint/same_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <ffkit/base/error.h>

#include "options/given_options.h"
#include "options/options_json.h"

namespace ffkit {
namespace {

using Json = nlohmann::ordered_json;

// `difference`: what is wrong on this rank, empty when nothing is.
void fail_together(Communicator& communicator, const std::string& difference) {
  const double num_other = communicator.sum(std::vector<double>{difference.empty() ? 0.0 : 1.0})[0];
  if (!difference.empty()) throw Error(ErrorCode::invalid_argument, difference);
  if (num_other > 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{:.0f} of {} processes were started for another run than rank {}, as "
                            "they print",
                            num_other, communicator.world_size(), communicator.rank()));
  }
}

Json shared_options(const TrainOptions& options, const std::vector<std::string>* given) {
  Json json = Json::parse(options_to_json(options));
  TrainOptions copy = options;
  const OptionTables tables = option_tables(copy);
  for (const Option* option : stored_options(tables.general, tables.task)) {
    if (!option->is_local && (given == nullptr || is_given(*given, option->name))) continue;
    for (const OptionPart& part : option->parts) json.erase(part.key);
  }
  // Where the data lies may differ, the shares of several sets not.
  if (given == nullptr || is_given(*given, "data")) json["data_weights"] = options.data.weights();
  json["work_dir"] = options.work_dir.empty() ? "none" : "given";
  return json;
}

}  // namespace

void check_same_options(Communicator& communicator, const TrainOptions& options,
                        const std::vector<std::string>* given) {
  if (communicator.is_alone()) return;
  const Json own = shared_options(options, given);
  const Json first = Json::parse(communicator.broadcast(own.dump()));
  std::string difference;
  for (const auto& item : own.items()) {
    if (!difference.empty() || (first.contains(item.key()) && first[item.key()] == item.value()))
      continue;
    difference = fmt::format(
        "rank {} was started with {} {}, and rank 0 with {}; give all processes the same options",
        communicator.rank(), item.key(), item.value().dump(),
        first.contains(item.key()) ? first[item.key()].dump() : "no such option");
  }
  fail_together(communicator, difference);
}

void check_same_data(Communicator& communicator, const std::string& fingerprint,
                     const DataFolders& data) {
  if (communicator.is_alone()) return;
  const std::string first = communicator.broadcast(fingerprint);
  fail_together(communicator,
                first == fingerprint
                    ? ""
                    : fmt::format("{} is on rank {} not the data set that rank 0 has; copy the "
                                  "same one to all machines",
                                  data.string(), communicator.rank()));
}

void check_same_order(Communicator& communicator, const std::string& order) {
  if (communicator.is_alone()) return;
  const std::string first = communicator.broadcast(order);
  fail_together(communicator,
                first == order
                    ? ""
                    : fmt::format("rank {} takes its samples in the order '{}', and rank 0 in the "
                                  "order '{}': one reads from a store and the other does not; "
                                  "give all processes --order shuffle, or --order windowed",
                                  communicator.rank(), order, first));
}

}  // namespace ffkit
