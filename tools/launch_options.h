// Options of programs whose work several processes may share: who starts them, and where they meet.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <ffkit/launch/launch.h>

namespace ffkit {

// `processes`: the help of --nproc.
inline void add_launch_options(CLI::App& app, LaunchOptions& l, const std::string& processes) {
  app.add_option("--nproc", l.num_processes, processes)->check(CLI::Range(0, 4096));
  app.add_option_function<std::string>(
         "--launcher", [&l](const std::string& name) { l.launcher = from_name<Launcher>(name); },
         "Program that started the processes: auto, none, torchrun (or pytorch), slurm, mpi (also "
         "for PALS, Flux and jsrun) or node. 'node' is for clusters that start one command on each "
         "node")
      ->default_str("auto");
  app.add_flag("--bind-numa,!--no-bind-numa", l.bind_numa,
               "Binds each process to the NUMA node of its device (default: on)");
  app.add_option("--dist-backend", l.backend,
                 "Library with which the processes communicate: gloo, nccl or mpi. The default is "
                 "nccl on GPUs and gloo on CPUs")
      ->check(CLI::IsMember({"gloo", "nccl", "mpi"}));
  app.add_option("--dist-init-method", l.init_method,
                 "Place where the processes find each other: tcp://HOST:PORT, file:///PATH, env or "
                 "slurm. 'slurm' means the place that Slurm's variables give");
  app.add_option("--dist-timeout", l.timeout_seconds,
                 "Largest number of seconds that processes wait for each other")
      ->check(CLI::PositiveNumber);
}

}  // namespace ffkit
