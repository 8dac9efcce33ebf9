// rootnet_compare: holds our RootNet against what the published code computes.
//
//   rootnet_compare FOLDER [--root NUSCENES] [--float64] [--all]
//
// FOLDER has rootnet.expected.json, .npz and rootnet.weights.json, mupots_input.json and
// human36m_input.json. Crops are held against the stored ones; what the network makes of the stored
// crops, by the formula's weights: maps, coordinates, losses, gradients, running statistics; then
// AP and MRPE of made predictions. Exit status 1 when one is further away than its tolerance.
#include "compare.h"

#include <fmt/format.h>

#include <iostream>

#include <CLI/CLI.hpp>

namespace ffkit::testing {

void Deviations::check(const std::string& kind, const std::string& what, double deviation,
                       double tolerance) {
  const bool is_good = deviation <= tolerance;  // NaN is not
  if (!is_good) ++failures_;
  if (!is_good || shows_all_) {
    fmt::print("  {:<60} {:.2e}{}\n", kind + " " + what, deviation,
               is_good ? "" : fmt::format("  TOO FAR, allowed {:.0e}", tolerance));
  }
  double& worst = worst_[kind];
  if (!(deviation <= worst)) worst = deviation;
  ++count_;
}

bool Deviations::report() const {
  fmt::print("{} comparisons, {} too far; largest deviations:\n", count_, failures_);
  for (const auto& [kind, worst] : worst_) fmt::print("  {:<40} {:.1e}\n", kind, worst);
  return failures_ == 0;
}

namespace {

int run_compare(int argc, char** argv) {
  CLI::App app("Holds ffkit's RootNet against what the published code computes");
  std::filesystem::path folder, root;
  bool shows_all = false;
  bool in_float64 = false;
  app.add_option("folder", folder, "Folder of rootnet.expected.json and the files beside it")
      ->required();
  app.add_option("--root", root, "nuScenes root of the pictures; default: FOLDER/../nuscenes/root");
  app.add_flag("--all", shows_all, "Show every comparison, not only what is too far");
  app.add_flag("--float64", in_float64, "Compute the network in float64");
  CLI11_PARSE(app, argc, argv);
  if (root.empty()) root = folder / ".." / "nuscenes" / "root";
  const RootNetFixture fixture{.folder = folder,
                               .expected = read_json(folder / "rootnet.expected.json"),
                               .weights = read_json(folder / "rootnet.weights.json"),
                               .arrays = read_npz(folder / "rootnet.expected.npz")};
  Deviations deviations(shows_all);
  compare_evaluations(fixture, deviations);
  compare_samples(fixture, root, deviations);
  for (const char* mode : {"eval_mode", "root_train_mode", "train_mode"}) {
    compare_network(fixture, mode, !in_float64, deviations);
  }
  return deviations.report() ? 0 : 1;
}

}  // namespace
}  // namespace ffkit::testing

int main(int argc, char** argv) {
  try {
    return ffkit::testing::run_compare(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "rootnet_compare: " << e.what() << '\n';
    return 1;
  }
}
