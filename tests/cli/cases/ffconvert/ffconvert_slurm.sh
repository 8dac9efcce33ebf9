# Slurm: the parts of a conversion are the tasks of an array, of srun, and of both; the last to end
# merges. A task that is killed is queued again and goes on. (docs/clusters.md has the script.)
source "$cli_folder/start_slurm.sh"

set_options="--images 4000 --val-images 50 --size 64 --classes 4 --shard-size 1M --num-threads 1"
run 0 "$FFCONVERT" demo whole $set_options --quiet
wait_for() {  # a file, for ten minutes
  for _ in {1..6000}; do [ -e "$1" ] && return; sleep 0.1; done
  cat "$work"/*.out; tail -n 5 slurm/controller.log
}
wait_for_jobs() {
  for _ in {1..6000}; do [ -z "$(squeue -h)" ] && return; sleep 0.1; done
  squeue
}

# What Slurm tells the tasks of arrays with steps and gaps.
cat >say.sh <<END
#!/bin/bash
"$FFCONVERT" demo "$PWD/none" $set_options --part auto --dry-run >"$PWD/say-\$SLURM_ARRAY_TASK_ID" 2>&1
END
run 0 sbatch --quiet --output /dev/null --array=10-40:10 say.sh
wait_for_jobs
check grep -q 'part 1 of 4, from SLURM_ARRAY_TASK_ID' say-10
check grep -q 'part 4 of 4, from SLURM_ARRAY_TASK_ID' say-40
run 0 sbatch --quiet --output /dev/null --array=1,3,7 say.sh
wait_for_jobs
check grep -q 'the job array has 3 tasks from 1 to 7 with gaps' say-3
run 0 sbatch --quiet --output /dev/null say.sh
wait_for_jobs
check grep -q 'put srun before the command, or submit a job array' say-

# The script of the page. One task is killed with all that it started, and queued again.
cat >job.sh <<END
#!/bin/bash
#SBATCH --array=0-3 --ntasks=1 --requeue --open-mode=append --output=$PWD/task-%a.out
"$FFCONVERT" demo "$PWD/set" $set_options --part auto --merge-when-complete --resume
END
run 0 sbatch --parsable job.sh
job=$(cat "$work/.stdout")
wait_for set/.part-2-of-4/.ffkit-unfinished
run 0 scontrol requeue "${job}_1"
wait_for_jobs
wait_for set/train/manifest.json
for _ in {1..6000}; do [ -e set/.ffkit-unfinished ] || break; sleep 0.1; done
wait_for_jobs
check diff -r whole set
check test "$(cat task-*.out | grep -c '^all 4 parts are ready and merged')" = 1
check grep -q 'part 2 of 4, from SLURM_ARRAY_TASK_ID' task-1.out
check test "$(grep -c 'part 2 of 4, from SLURM_ARRAY_TASK_ID' task-1.out)" = 2

# srun, alone and in an array.
run 0 srun --ntasks=2 "$FFCONVERT" demo by-srun $set_options --part auto --merge-when-complete --resume
err 'part 2 of 2, from SLURM_PROCID'
check diff -r whole by-srun
cat >both.sh <<END
#!/bin/bash
#SBATCH --array=1-2 --ntasks=2 --output=$PWD/both-%a.out
srun "$FFCONVERT" demo "$PWD/both" $set_options --part auto --merge-when-complete --resume
END
run 0 sbatch --quiet both.sh
wait_for_jobs
check diff -r whole both
check grep -q 'part 4 of 4, from SLURM_ARRAY_TASK_ID and SLURM_PROCID' both-2.out
