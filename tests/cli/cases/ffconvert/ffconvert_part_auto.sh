# --part auto without any of the programs that start processes: their variables, and what is said of
# them.
options="--images 1200 --val-images 10 --size 64 --classes 4 --shard-size 1M --num-threads 1"
alone() { env -u SLURM_JOB_ID -u SLURM_PROCID -u PMI_RANK -u PMIX_RANK -u RANK -u WORLD_SIZE "$@"; }
array() { echo "SLURM_ARRAY_TASK_ID=$1 SLURM_ARRAY_TASK_MIN=$2 SLURM_ARRAY_TASK_MAX=$3 SLURM_ARRAY_TASK_STEP=$4 SLURM_ARRAY_TASK_COUNT=$5"; }
part() {  # STATUS SENTENCE NAME=VALUE...
  local status=$1 sentence=$2
  shift 2
  run "$status" alone "$@" "$FFCONVERT" demo none ${options/1200/5000} --part auto --dry-run
  err "$sentence"
}
part 0 'note: part 3 of 8, from SLURM_ARRAY_TASK_ID' $(array 2 0 7 1 8)
part 0 'note: part 3 of 8, from SLURM_ARRAY_TASK_ID' $(array 3 1 8 1 8)
part 0 'note: part 3 of 4, from SLURM_ARRAY_TASK_ID' $(array 15 5 20 5 4)
part 0 'note: part 3 of 4, from SLURM_PROCID' SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_STEP_ID=0
part 0 'note: part 7 of 8, from SLURM_ARRAY_TASK_ID and SLURM_PROCID' $(array 2 1 2 1 2) SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_STEP_ID=0
part 0 'note: part 2 of 4, from OMPI_COMM_WORLD_RANK' OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4
part 0 'note: part 2 of 4, from PMI_RANK' PMI_RANK=1 PMI_SIZE=4
part 0 'note: part 2 of 4, from RANK' RANK=1 WORLD_SIZE=4
part 0 'note: part 1 of 1, from SLURM_ARRAY_TASK_ID' $(array 5 5 5 1 1)
part 2 'has 3 tasks from 1 to 7 with gaps.*--array=1-3, or give the part as --part i/n' $(array 3 1 7 1 3)
part 2 'SLURM_PROCID says process 2 of 4, but RANK says process 1 of 4' SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_STEP_ID=0 RANK=1 WORLD_SIZE=4
part 2 'PMIX_RANK is 0, but no variable gives the number of processes' PMIX_RANK=0
part 2 "The process runs in the Slurm job 7; put srun before the command" SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_NTASKS=4
part 2 'start the process with srun, mpirun, torchrun or a job array of Slurm, or give the part as --part i/n' A=B
run 2 "$FFCONVERT" demo none $options --merge-when-complete
err 'there are no parts to merge without --part; give it as i/n or auto'

# Four tasks at the same time, one destination: what one process makes.
run 0 "$FFCONVERT" demo whole $options --quiet
for task in 0 1 2 3; do
  alone $(array $task 0 3 1 4) "$FFCONVERT" demo set $options --part auto --merge-when-complete --resume 2>task-$task &
done
wait
check test "$(cat task-? | grep -c '^all 4 parts are ready and merged')" = 1
check diff -r whole set
run 0 alone $(array 2 0 3 1 4) "$FFCONVERT" demo set $options --part auto --merge-when-complete --resume
err 'is already finished'
run 1 alone $(array 2 0 3 1 4) "$FFCONVERT" demo set $options --part auto --merge-when-complete
err 'already contains a data set'

# One task is missing: its part is named, its own command makes it, and merge joins by hand what was
# made without --merge-when-complete.
for task in 0 2; do run 0 alone $(array $task 0 2 1 3) "$FFCONVERT" demo by-hand $options --part auto; done
run 1 "$FFINSPECT" verify by-hand
err 'finish it with: ffconvert merge'
run 1 "$FFCONVERT" merge by-hand
err 'only 2 of 3 parts exist; make the missing parts, and begin with --part 2/3'
run 0 "$FFCONVERT" demo by-hand $options --part 2/3
run 0 "$FFCONVERT" merge by-hand
check diff -r whole by-hand

# A task that was submitted alone is not the whole.
run 0 alone $(array 0 0 2 1 3) "$FFCONVERT" demo again $options --part auto --merge-when-complete
run 1 alone $(array 2 2 2 1 1) "$FFCONVERT" demo again $options --part auto --merge-when-complete
err 'again contains parts of a conversion, such as .part-1-of-3, but SLURM_ARRAY_TASK_ID says process 1 of 1.*give the number of the part \(--part i/3\)'
check grep -q -- '--part 1/3' again/.part-1-of-3/.ffkit-unfinished
check ! grep -q -- '--part auto' again/.part-1-of-3/.ffkit-unfinished
