# A Slurm of this one machine, on ports of its own: srun starts two tasks; a job that is told to stop is queued again and goes on.
[ -n "${FFTRAIN:-}" ] || skip "built without the trainer"
[ "$(id -u)" = 0 ] || skip "Slurm's daemons are started by root"
for program in slurmctld slurmd srun sbatch munged; do
  command -v $program >/dev/null || skip "$program is not installed (tools/setup installs Debian's Slurm)"
done
host=$(hostname -s)
mkdir -p slurm/munge slurm/state slurm/spool
chmod 700 slurm/munge
head -c 1024 /dev/urandom >slurm/munge/key
chmod 400 slurm/munge/key
read -r controller daemon < <(python3 -c 'import socket
sockets = [socket.create_server(("", 0)) for _ in range(2)]
print(*[s.getsockname()[1] for s in sockets])')
# cred_expire: a job that is queued again waits for as many seconds.
cat >slurm/slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=$controller
SlurmdPort=$daemon
AuthType=auth/munge
AuthInfo=socket=$PWD/slurm/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$PWD/slurm/state
SlurmdSpoolDir=$PWD/slurm/spool
SlurmctldPidFile=$PWD/slurm/controller.pid
SlurmdPidFile=$PWD/slurm/daemon.pid
SlurmctldLogFile=$PWD/slurm/controller.log
SlurmdLogFile=$PWD/slurm/daemon.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
END
export SLURM_CONF=$PWD/slurm/slurm.conf
stop_slurm() {
  local file
  scancel --full --user root >/dev/null 2>&1
  for file in controller daemon munge/munged; do kill "$(cat slurm/$file.pid)" 2>/dev/null; done
}
cleanup+=(stop_slurm)
munged --force --key-file=slurm/munge/key --socket="$PWD/slurm/munge/socket" --pid-file="$PWD/slurm/munge/munged.pid" \
  --log-file="$PWD/slurm/munge/log" --seed-file="$PWD/slurm/munge/seed" >/dev/null 2>&1 &&
  slurmctld && slurmd || skip "Slurm does not start here: $(tail -n 1 slurm/*.log)"
for _ in {1..300}; do sinfo -h -o %t 2>/dev/null | grep -q idle && break; sleep 0.1; done
sinfo -h -o %t | grep -q idle || skip "Slurm's node does not come up: $(sinfo -h; tail -n 1 slurm/daemon.log)"
[ "$(nproc)" -ge 2 ] || skip "two tasks need two cores"

run 0 "$FFCONVERT" demo data --classes 4 --images 64 --val-images 8 --size 32 --quiet
options="--data data --arch resnet18 --image-size 32 --batch-size 8 --lr 0.01 --compute-threads 1"
run 0 srun -n 2 "$FFTRAIN" $options --epochs 1
out '^epoch 1/1'
check test "$(grep -c '^epoch' "$work/.stdout")" = 1  # one run of two processes, not two runs
run 1 srun -n 2 "$FFTRAIN" $options --epochs 1 --launcher torchrun
err 'which the launcher torchrun needs'

# As README.md writes it. Slurm sends the signal, the run ends with 75, the job is queued again and finishes.
cat >job.sh <<END
#!/bin/bash
#SBATCH --requeue --ntasks 2 --output $PWD/job.out --open-mode append
srun $FFTRAIN $options --epochs 8 --work-dir run --resume || { [ \$? = 75 ] && scontrol requeue "\$SLURM_JOB_ID"; }
END
run 0 sbatch --parsable job.sh
job=$(cat "$work/.stdout")
for _ in {1..600}; do [ -e run/epoch-0002.safetensors ] && break; sleep 0.1; done
check test -e run/epoch-0002.safetensors
run 0 scancel --signal USR1 "$job"
for _ in {1..900}; do [ -e run/epoch-0008.safetensors ] && break; sleep 0.1; done
[ -e run/epoch-0008.safetensors ] || { cat job.out; tail -n 5 slurm/controller.log; }
check test -e run/epoch-0008.safetensors
check grep -q '^stopped when asked to' job.out
check grep -q '^going on from run/epoch-' job.out
