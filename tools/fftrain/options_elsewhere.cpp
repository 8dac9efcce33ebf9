// What other programs call the options of fftrain: torch's ImageNet example, torchvision's and
// timm's scripts, OneFlow's flowvision and libai, MMEngine, 3DMPPE, Lightning, Transformers and
// Megatron.
#include <sstream>

#include "options.h"

namespace ffkit {
namespace {

struct Synonyms {
  const char* ours;    // and what is to be said of it; empty: there is none
  const char* theirs;  // their names, a space between two
};

constexpr Synonyms kSynonyms[] = {
    {"",
     "amp-impl aug-repeats aug-splits augmix-severity bce-loss bn-momentum "
     "cache-dataset cache-mode ceph class-map clip-mode compile cooldown-epochs "
     "cutmix-minmax dataset-download deepspeed diff-seed disable-progress-bar dist-bn dist-eval "
     "do-train drop-path epoch-repeats eval-metric eval-options fsdp fuse-bn-relu fuse-conv-bn "
     "fuser gp gpu-collect graph head-init-scale in-chans jsd-loss legacy-init log-wandb "
     "lr-decay-iters lr-noise lr-noise-pct mean metric-local metric-train-acc mixup-mode "
     "mixup-off-epoch mixup-prob mixup-switch-prob model-ema-force-cpu model-kwargs no-ddp-bb "
     "no-persistent-workers no-pin-memory no-prefetcher no-test-pool ofrecord-part-num "
     "pin-mem print-environ push-to-hub ra-reps ra-sampler ratio recount remode report-to "
     "save-images sched-on-updates score-thr show show-dir split-bn std "
     "synchronize-step tag test-pool tmpdir torchcompile torchscript "
     "train-interpolation transformer-embedding-decay tta use-gpu-decode "
     "use-multi-epochs-loader use-v2 validate vflip wait-time wandb worker-seeding zip"},
    {"NAME VALUE of each option", "cfg-options options opts"},
    {"accumulate",
     "accumulate-grad-batches accumulation-steps grad-accum-steps "
     "gradient-accumulation-steps"},
    {"adam-betas", "adam-beta1 adam-beta2 beta1 beta2 betas opt-betas"},
    {"adam-eps", "adam-epsilon eps opt-eps"},
    {"amp", "amp-dtype amp-opt-level mixed-precision precision"},
    {"amp bf16", "bf16"},
    {"amp fp16", "fp16 use-fp16"},
    {"arch", "model model-arch"},
    {"auto-augment", "aa"},
    {"auto-augment none", "no-aug"},
    {"batch-size",
     "batch-size-per-gpu eval-batch-size micro-batch-size per-device-eval-batch-size "
     "per-device-train-batch-size samples-per-gpu test-batch-size train-batch-size "
     "val-batch-size validation-batch-size vb"},
    {"benchmark", "throughput"},
    {"bottleneck", "profile-data"},
    {"channels-last", "channel-last"},
    {"checkpoint-minutes",
     "recovery-interval save-every save-freq save-interval save-steps save-strategy"},
    {"class-weights", "loss-weights"},
    {"clip-grad-norm",
     "clip-grad clip-max-norm clip-norm grad-clip gradient-clip-val gradient-clipping "
     "max-grad-norm"},
    {"config, a TOML file", "cfg config-file config-name config-path"},
    {"context", "block-size seq-length"},
    {"crop-scale", "scale"},
    {"cutmix-alpha", "cutmix"},
    {"data",
     "data-dir data-path data-root dataset ofrecord-path train-data-path train-file "
     "train-path"},
    {"data, a folder that has both splits", "val-path"},
    {"data, which says how many classes there are", "num-classes"},
    {"deterministic", "use-deterministic-algorithms"},
    {"device", "accelerator"},
    {"device cpu", "no-accel no-cuda"},
    {"device cuda", "cuda use-cuda"},
    {"device cuda:N", "gpu-id"},
    {"dist-backend", "backend"},
    {"dist-init-method", "dist-url"},
    {"dropout", "drop"},
    {"dummy", "synthetic-data"},
    {"ema-decay", "model-ema model-ema-decay"},
    {"ema-steps", "model-ema-steps"},
    {"epochs",
     "end-epoch max-epoch max-epochs n-epochs num-epoch num-epochs num-train-epochs "
     "total-epochs"},
    {"eval-every",
     "check-val-every-n-epoch eval-freq eval-interval eval-steps eval-strategy "
     "evaluation-strategy val-interval"},
    {"eval-every, the epochs between validations", "no-validate skip-eval"},
    {"eval-resize", "val-resize-size"},
    {"eval-resize, the side that a crop of --eval-size is taken from", "crop-pct"},
    {"eval-size", "val-crop-size"},
    {"evaluate", "do-eval e eval eval-only test test-only"},
    {"evaluate, a checkpoint", "test-epoch"},
    {"evaluate, which takes the average of the weights where there is one",
     "model-ema-eval use-ema"},
    {"freeze", "freeze-backbone freeze-layers frozen-stages"},
    {"global-batch-size", "total-batch-size"},
    {"heads", "n-head num-attention-heads"},
    {"hflip", "flip horizontal-flip"},
    {"image-size", "img-size input-size train-crop-size"},
    {"keep-checkpoints", "checkpoint-hist save-total-limit"},
    {"label-smoothing", "smoothing"},
    {"launcher torchrun, and these options before the program",
     "rdzv-backend rdzv-endpoint rdzv-id standalone"},
    {"layer-decay", "layer-wise-lr-decay layerwise-lr-decay lr-layer-decay"},
    {"layers", "n-layer num-layers"},
    {"limit-batches", "fast-dev-run max-train-samples train-num-samples"},
    {"log-every", "log-interval logging-steps print-freq print-interval"},
    {"lr", "learning-rate lr-base"},
    {"lr-base-batch", "lr-base-size"},
    {"lr-gamma", "decay-rate lr-decay-rate"},
    {"lr-min", "min-lr"},
    {"lr-scaling", "lr-base-scale"},
    {"lr-scaling linear", "auto-scale-lr"},
    {"lr-schedule",
     "cos lr-decay-style lr-decay-type lr-policy lr-scheduler lr-scheduler-type sched"},
    {"lr-step-epochs", "decay-epochs lr-drop lr-step-size lr-steps milestones step-size"},
    {"mixup-alpha", "mixup"},
    {"no-norm-decay", "bias-weight-decay norm-weight-decay"},
    {"nproc",
     "ddp devices gpus gpus-per-node multiprocessing-distributed n-gpus ngpus "
     "nproc-per-node num-devices-per-node num-gpus strategy"},
    {"nproc, or RANK and WORLD_SIZE in the environment of each process", "rank world-size"},
    {"nproc, the number of GPUs", "gpu-ids"},
    {"nproc, the number of GPUs, or --device cuda:N for one", "gpu"},
    {"nproc, the number of processes here; other machines: MASTER_ADDR, RANK and WORLD_SIZE",
     "master-addr master-port nnodes node-rank nodes num-nodes"},
    {"nproc, which tells each process its number", "local-rank"},
    {"optimizer", "opt"},
    {"patience", "early-stop early-stopping-patience patience-epochs"},
    {"pipeline-parallel", "pipeline-model-parallel-size pipeline-parallel-size"},
    {"positions", "max-position-embeddings n-positions"},
    {"predict", "predict-only"},
    {"prefetch", "prefetch-batches prefetch-factor"},
    {"pretrained", "initial-checkpoint load load-from model-name-or-path pretrained-path weights"},
    {"prof FOLDER", "profile profiler"},
    {"randaugment-magnitude", "ra-magnitude"},
    {"random-erasing", "random-erase reprob"},
    {"recompute",
     "checkpoint-activations grad-checkpointing gradient-checkpointing use-checkpoint"},
    {"results", "dump format-only out output-file results-file"},
    {"resume", "auto-resume continue continue-train"},
    {"resume, which knows the epoch", "start-epoch"},
    {"resume-from", "checkpoint resume-from-checkpoint"},
    {"seed", "manual-seed random-seed"},
    {"steps", "max-iters max-steps train-iters"},
    {"sync-bn", "sync-batchnorm syncbn use-syncbn"},
    {"tensor-parallel", "tensor-model-parallel-size tensor-parallel-size"},
    {"threads", "dataloader-num-workers num-data-workers num-thread num-workers nworkers workers"},
    {"warmup-epochs", "lr-warmup-epochs"},
    {"warmup-start", "lr-warmup-decay lr-warmup-method warmup-lr"},
    {"warmup-steps", "lr-warmup-iters warmup-iters warmup-ratio"},
    {"weight-decay", "wd"},
    {"width", "hidden-size n-embd"},
    {"work-dir",
     "work-path checkpoint-dir checkpoints-path default-root-dir exp-dir experiment log-dir "
     "logging-dir out-dir output output-dir root-dir run-dir save save-dir "
     "tensorboard tensorboard-dir workdir"},
    {"work-dir, a new folder", "overwrite-output-dir"},
};

}  // namespace

std::map<std::string, std::string> options_elsewhere() {
  std::map<std::string, std::string> out;
  for (const Synonyms& line : kSynonyms) {
    std::istringstream theirs(line.theirs);
    for (std::string name; theirs >> name;) out.emplace(name, line.ours);
  }
  return out;
}

}  // namespace ffkit
