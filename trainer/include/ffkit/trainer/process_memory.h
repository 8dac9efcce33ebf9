// How the C library gives memory back. A policy of the whole process, for programs that train.
#pragma once

namespace ffkit {

// Freed memory stays in the process instead of going back to the system. Activations and gradients
// are hundreds of megabytes that come and go in every step. By default glibc maps and unmaps each
// of them, and zeroing their pages takes about a tenth of a training step on a CPU. Call it once at
// the start of main(). Does nothing with another C library.
void keep_freed_memory();

}  // namespace ffkit
