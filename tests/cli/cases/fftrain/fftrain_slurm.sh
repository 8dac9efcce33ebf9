# Slurm: srun starts two tasks; a job that is told to stop is queued again and goes on.
source "$cli_folder/start_slurm.sh"
[ "$(nproc)" -ge 2 ] || skip "two tasks need two cores"

run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 8 --size 32 --quiet
options="--data data --arch mobilenet_v3_small --image-size 32 --batch-size 8 --lr 0.01 --compute-threads 1"
run 0 srun -n 2 "$FFTRAIN" $options --epochs 1
out '^epoch 1/1'
check test "$(grep -c '^epoch' "$work/.stdout")" = 1  # one run of two processes, not two runs
run 1 srun -n 2 "$FFTRAIN" $options --epochs 1 --launcher torchrun
err 'but the launcher torchrun needs it'

# As README.md writes it. Slurm sends the signal, the run ends with 75, the job is queued again and
# finishes.
cat >job.sh <<END
#!/bin/bash
#SBATCH --requeue --ntasks 2 --output $PWD/job.out --open-mode append
srun $FFTRAIN $options --epochs 8 --work-dir run --resume || { [ \$? = 75 ] && scontrol requeue "\$SLURM_JOB_ID"; }
END
run 0 sbatch --parsable job.sh
job=$(cat "$work/.stdout")
for _ in {1..6000}; do [ -e run/epoch-0002.safetensors ] && break; sleep 0.1; done
check test -e run/epoch-0002.safetensors
run 0 scancel --signal USR1 "$job"
for _ in {1..6000}; do [ -e run/epoch-0008.safetensors ] && break; sleep 0.1; done
[ -e run/epoch-0008.safetensors ] || { cat job.out; tail -n 5 slurm/controller.log; }
check test -e run/epoch-0008.safetensors
check grep -q '^stopped on request' job.out
check grep -q '^continuing from run/epoch-' job.out
