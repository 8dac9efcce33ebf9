// glibc has it since 2.32, and libstdc++ asks it whether counters need atomic operations.
#pragma once

static constexpr char __libc_single_threaded = 0;
