# Turns the namespaces in which it runs into a machine, of which it then becomes
# process 1.
#
#   sh -c machine.sh sh DIR SHARED WITHOUT COMMAND...
#
# DIR is an empty directory, below which the files of the machine are mounted for
# the machine alone; SHARED is one that it sees, read-only, as /opt/shared; WITHOUT
# are the capabilities that it does not have.
set -eu
dir=$1 shared=$2 without=$3
shift 3

mount --make-rprivate /
mount -t tmpfs -o mode=0755 machine "$dir"
mkdir "$dir/upper" "$dir/work" "$dir/root" "$dir/units" "$dir/user-units"
mount -t overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" machine "$dir/root"
cd "$dir/root"
mkdir -p opt/shared
mount --bind "$shared" opt/shared
mount -o remount,bind,ro opt/shared

# Nothing of the host that runs by itself, or that whoever boots would clean up.
cp usr/lib/systemd/system/systemd-journald.s* usr/lib/systemd/system/systemd-journald-dev-log.socket "$dir/units/"
cp usr/lib/systemd/user/exit.target usr/lib/systemd/user/systemd-exit.service "$dir/user-units/"
for name in tmp var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$name"; done
for name in run etc/systemd usr/lib/tmpfiles.d usr/lib/sysusers.d usr/lib/environment.d \
  usr/lib/systemd/system usr/lib/systemd/system-generators usr/lib/systemd/system-preset usr/lib/systemd/system-environment-generators \
  usr/lib/systemd/user usr/lib/systemd/user-generators usr/lib/systemd/user-preset usr/lib/systemd/user-environment-generators; do
  [ ! -d "$name" ] || mount -t tmpfs -o mode=0755 tmpfs "$name"
done
mkdir -p etc/systemd/system etc/systemd/user
rm -rf var/lib/systemd/linger

# What a boot starts.
units=usr/lib/systemd/system
cp "$dir"/units/* "$units/"
cp "$dir"/user-units/* usr/lib/systemd/user/
for name in "$units/shutdown" usr/lib/systemd/user/shutdown usr/lib/systemd/user/basic; do
  printf '[Unit]\nDefaultDependencies=no\n' >"$name.target"
done
cat >"$units/sysinit.target" <<'UNIT'
[Unit]
DefaultDependencies=no
Wants=systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service
After=systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service
UNIT
cat >"$units/basic.target" <<'UNIT'
[Unit]
Requires=sysinit.target
After=sysinit.target
AllowIsolate=yes
UNIT
cat >"$units/multi-user.target" <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
AllowIsolate=yes
UNIT
cat >usr/lib/systemd/user/default.target <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
UNIT
# The manager of a user, as a login has it started.
cat >"$units/user@.service" <<'UNIT'
[Service]
User=%i
Type=notify
Environment=XDG_RUNTIME_DIR=/run/user/%i
ExecStartPre=+install -d -m 0700 -o %i /run/user/%i
ExecStart=/usr/lib/systemd/systemd --user
Delegate=yes
KillMode=mixed
UNIT

# Devices are made anew: who changes the owner of one changes nobody else's.
mount -t tmpfs -o mode=0755,nosuid dev dev
mkdir dev/shm dev/pts dev/host
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm

mount -t proc -o nosuid,nodev,noexec proc proc
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 sys/fs/cgroup
for name in bus irq sys sysrq-trigger; do
  [ ! -e "proc/$name" ] || { mount --bind "proc/$name" "proc/$name"; mount -o remount,bind,ro "proc/$name"; }
done
for name in kcore keys kmsg; do
  [ ! -e "proc/$name" ] || mount --bind dev/null "proc/$name"
done
ip link set lo up

pivot_root . dev/host
cd /
umount -l /dev/host
rmdir /dev/host
exec setpriv --bounding-set="$without" -- "$@"
