# What hands type that know another trainer (docs/command-lines.md): it runs, or the one word that
# is needed is said.
run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 8 --size 32 --quiet
small=(--image-size 32 --compute-threads 1 --lr 0.01 --epochs 1)

# torch's example for ImageNet: short names, the data alone.
run 0 "$FFTRAIN" -a mobilenet_v3_small -b 8 -j 1 -p 2 "${small[@]}" --channels-last --work-dir run data
out '^step 2/8 of epoch 1/1 '
check grep -q '^batch-size = 8$' run/config.toml
run 0 "$FFTRAIN" data/train -a mobilenet_v3_small -b 8 "${small[@]}" --limit-batches 1
err "^data/train is the split 'train' of the data set data; the whole data set is used$"
run 0 "$FFTRAIN" -a mobilenet_v3_small --dummy -b 4 "${small[@]}" --limit-batches 1
run 0 "$FFTRAIN" -a mobilenet_v3_small --benchmark -b 2 "${small[@]}" --limit-batches 1
run 2 "$FFTRAIN" data --data data
one_line_err "'data' is one argument too many for fftrain"
run 2 "$FFTRAIN" data more
one_line_err "'more' is one argument too many for fftrain"
run 2 "$FFTRAIN" data --resume run
one_line_err "'run' is one argument too many for fftrain; --resume takes no value; see fftrain --help"
run 2 "$FFTRAIN" --resume checkpoint.pth.tar --work-dir run
one_line_err "'checkpoint.pth.tar' is not a data set; give a checkpoint with --resume-from, "
run 2 "$FFTRAIN" -a resnet18 --resume checkpoint.pth.tar data
one_line_err "'checkpoint.pth.tar' is not a data set; give a checkpoint with --resume-from, "
run 2 "$FFTRAIN" -a resnet18 --resume=checkpoint.pth.tar --work-dir run data
one_line_err '--resume: takes no value; give a checkpoint with --resume-from'
run 2 "$FFTRAIN" -a resnet18 --pretrained data
one_line_err '--pretrained: data is a data set; give a file of weights'
run 2 "$FFTRAIN" -a resnet18 --pretrained --dummy
one_line_err '--pretrained: expected FILE, found the option --dummy'
run 2 "$FFTRAIN" configs/resnet50.py 8 --work-dir run
one_line_err "'configs/resnet50.py' is not a data set; .* a file of options \(TOML\) with --config"
run 2 "$FFTRAIN" configs/resnet50.py --work-dir run
one_line_err "'configs/resnet50.py' is not a data set; .* a file of options \(TOML\) with --config"

says() {  # WORD ARGUMENTS...
  local word=$1
  shift
  run 2 "$FFTRAIN" "$@"
  one_line_err "fftrain has no option '--?[A-Za-z_-]+'; use --$word"
}
says evaluate -e --data data
says lr-schedule --sched cosine data
says evaluate --eval --data data
says evaluate --eval-only data
says nproc --gpu 0-7 data
says nproc --gpu 0-3 --continue
says resume --continue
says resume --auto-resume --work-dir run
says work-dir --checkpoints-path out data
says data --val-path data
says arch --model_arch resnet50 --data data
says config --cfg configs/default.yaml data
says config --config-file configs/gpt2.py
says 'lr-scaling linear' --auto-scale-lr --work-dir run data
says 'dist-init-method' --dist-url tcp://127.0.0.1:1 data
says warmup-epochs --lr-warmup-epochs 5 data
says no-norm-decay --norm-weight-decay 0.0 data
says lr-min --min-lr 1e-5 data
says accumulate --accumulation-steps 2 data
says evaluate -e --resume model_best.pth.tar data
says work-dir --experiment x --output runs data
says resume --start-epoch 3 data
says 'device cpu' --no-accel data
says results CONFIG CHECKPOINT --out results.pkl --launcher pytorch
says 'NAME VALUE of each option' configs/x.py --cfg-options a=1 b=2
says 'nproc \(or RANK and WORLD_SIZE' --world-size 2 data
# A whole command line at once.
run 2 "$FFTRAIN" -a resnet50 --dist-url tcp://127.0.0.1:1 --dist-backend nccl --multiprocessing-distributed --world-size 1 --rank 0 --gpu 0 --seed 1 --wd 1e-4 data
one_line_err "no option '--dist-url'; use --dist-init-method instead; for '--multiprocessing-distributed' use --nproc instead; for '--world-size', '--rank' use --nproc \(or RANK.*\) instead; for '--gpu' use --nproc \(.*\) instead; for '--wd' use --weight-decay instead; see"
run 2 "$FFTRAIN" --model resnet50 --ra-sampler --ra-reps 4 --model-ema --lr-step-size=30 data
one_line_err "no option '--model'; use --arch instead; for '--ra-sampler', '--ra-reps' no option does the same; for '--model-ema' use --ema-decay instead; for '--lr-step-size' use --lr-step-epochs instead; see"
run 2 "$FFTRAIN" --jsd-loss data
one_line_err "no option '--jsd-loss'; no option does the same; see"

# Launchers and backends.
two=("$FFTRAIN" data -a mobilenet_v3_small -b 4 "${small[@]}" --limit-batches 1)
run 0 "${two[@]}" --launcher none --nproc 2 --dist-backend gloo
run 1 "${two[@]}" --launcher none --nproc 2 --dist-backend mpi
err 'this libtorch has no backend mpi, .*--dist-backend gloo'
run 1 "${two[@]}" --launcher pytorch
one_line_err 'WORLD_SIZE is not set, but the launcher torchrun needs it'
run 1 "${two[@]}" --launcher mpi
one_line_err 'OMPI_COMM_WORLD_SIZE is not set, but the launcher mpi needs it'
run 1 "${two[@]}" --dist-init-method slurm
one_line_err 'SLURM_STEP_NUM_TASKS is not set, but the launcher slurm needs it'
for scale in -1 None dynamic 128; do run 0 "${two[@]}" --loss-scale $scale; done
run 2 "${two[@]}" --loss-scale no
one_line_err "'no' is neither a number nor dynamic"
# One task of srun on the machine, which starts two processes.
run 0 env SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_LOCALID=0 SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=here SLURM_STEP_TASKS_PER_NODE=1 "${two[@]}" --nproc 2
out '^\[0\] epoch 1/1'
# Two launchers that say different things.
run 1 env SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_LOCALID=0 SLURM_JOB_ID=7 SLURM_STEP_ID=0 RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 "${two[@]}"
one_line_err 'SLURM_PROCID says process 1 of 4, but RANK says process 0 of 2'
run 1 env GLOO_SOCKET_IFNAME=no-such0 "${two[@]}" --nproc 2
err "GLOO_SOCKET_IFNAME is 'no-such0', .*give an interface that 'ip addr' shows"

# FPS leaves out the first five steps of each epoch.
run 0 "$FFTRAIN" data -a mobilenet_v3_small -b 8 "${small[@]}" --progress json
check python3 -c 'import json, sys
lines = {l["kind"]: l for l in map(json.loads, open(sys.argv[1]))}
assert lines["epoch"]["fps"] > 0 and lines["summary"]["fps"] == lines["epoch"]["fps"]' "$work/.stdout"
run 0 "$FFTRAIN" data -a mobilenet_v3_small -b 8 "${small[@]}" --limit-batches 5 --progress json
check ! grep -q fps "$work/.stdout"
run 2 "$FFTRAIN" --data data -a resnet18 --resume run
one_line_err "'run' is not a data set; give a checkpoint with --resume-from"
run 2 "$FFTRAIN" data --num-layers 2 --syncbn --dist-eval
one_line_err "'--num-layers'; use --layers instead; for '--syncbn' use --sync-bn instead; for '--dist-eval' no option does the same"
