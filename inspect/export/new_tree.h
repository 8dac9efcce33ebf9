// A folder tree that appears whole or not at all.
#pragma once

#include <filesystem>
#include <functional>

namespace ffkit {

// Calls `fill` with an empty folder whose content becomes that of `destination`, which must not
// exist or be an empty folder.
//
//   OUT does not exist:    OUT.ffinspect-export/  is filled, then renamed to OUT
//   OUT is an empty folder: OUT/.ffinspect-export/ is filled, then what is in it moves up
//
// While it is filled, nobody else can fill the same `destination`: Error(invalid_argument). When
// `fill` throws, all of it is removed; what a process that was killed left is removed by the next
// one. Throws Error(invalid_argument) for a destination that will not do, Error(io).
void make_tree(const std::filesystem::path& destination,
               const std::function<void(const std::filesystem::path& folder)>& fill);

// Throws Error(cancelled) once a signal has asked to stop (stop_signals.h).
void throw_if_stopped();

}  // namespace ffkit
