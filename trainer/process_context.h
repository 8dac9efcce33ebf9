// ProcessContext: this process' place among those that train one model together. A plain value.
#pragma once

namespace ffkit {

struct ProcessContext {
  int rank = 0;        // 0 .. world_size-1; rank 0 writes checkpoints and talks
  int world_size = 1;  // processes that share each epoch
};

}  // namespace ffkit
