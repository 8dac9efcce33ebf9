# A Slurm of this one machine, on ports of its own, for a case that sources this file; it is stopped
# when the case ends. The case is skipped where Slurm is missing or does not start.
[ "$(id -u)" = 0 ] || skip "Slurm's daemons are started by root"
for program in slurmctld slurmd srun sbatch munged; do
  command -v $program >/dev/null || skip "$program is not installed (tools/setup --development installs Slurm)"
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
  local file pids
  scancel --full --user root >/dev/null 2>&1
  pids=$(cat slurm/{controller,daemon,munge/munged}.pid 2>/dev/null)
  kill $pids 2>/dev/null
  # They write their state while they end.
  for _ in {1..100}; do kill -0 $pids 2>/dev/null || break; sleep 0.1; done
}
cleanup+=(stop_slurm)
munged --force --key-file=slurm/munge/key --socket="$PWD/slurm/munge/socket" --pid-file="$PWD/slurm/munge/munged.pid" \
  --log-file="$PWD/slurm/munge/log" --seed-file="$PWD/slurm/munge/seed" >/dev/null 2>&1 &&
  slurmctld && slurmd || skip "Slurm does not start here: $(tail -n 1 slurm/*.log)"
for _ in {1..1800}; do sinfo -h -o %t 2>/dev/null | grep -q idle && break; sleep 0.1; done
sinfo -h -o %t | grep -q idle || skip "Slurm's node does not come up: $(sinfo -h; tail -n 1 slurm/daemon.log)"
