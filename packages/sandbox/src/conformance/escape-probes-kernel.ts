/** Attempts against the kernel: namespaces, mounts, privileges, devices, settings, unusual calls. */
import type { Probe } from './escape-probes.ts'

const perl = (code: string, ...calls: string[]) =>
  `perl -e '${code}' ${calls.map((call) => `"$SYS_${call}"`).join(' ')}`
const mounts = (type: string): Probe => ({
  name: `mount ${type}`,
  attempt: `mkdir -p /tmp/m && sys mount none /tmp/m ${type} 0 0`,
})
const family = (name: string, number: number, type: number, protocol: number): Probe => ({
  name: `a socket of ${name}`,
  attempt: `sys socket ${number} ${type} ${protocol}`,
})
const unshared = (name: string, flag: number): Probe => ({
  name: `a ${name} namespace by unshare`,
  attempt: `sys unshare ${flag}`,
})
const cloned = (name: string, flag: string): Probe => ({
  name: `a ${name} namespace by clone`,
  attempt: perl(`$r=syscall($ARGV[0],${flag}|17,0,0,0,0);exit(1) if $r<0; exit 0`, 'clone'),
})

export const kernelProbes: Probe[] = [
  unshared('process', 0x20000000),
  unshared('host name', 0x04000000),
  unshared('IPC', 0x08000000),
  unshared('control group', 0x02000000),
  unshared('time', 0x80),
  cloned('mount', '0x00020000'),
  cloned('network', '0x40000000'),
  cloned('process', '0x20000000'),
  {
    name: 'enter a namespace by its file',
    attempt: perl('open(F,"<","/proc/self/ns/user") or exit 1;exit(syscall($ARGV[0],fileno(F),0)==0?0:1)', 'setns'),
  },
  { name: 'map own ids anew', attempt: 'echo "0 1000 1" > /proc/self/uid_map || echo "0 1000 1" > /proc/self/gid_map' },
  { name: 'map ids by the setuid helper', attempt: 'newuidmap $$ 0 0 1 || newgidmap $$ 0 0 1' },
  ...['proc', 'sysfs', 'cgroup2', 'cgroup', 'debugfs', 'overlay', 'devpts', 'bpf', 'binfmt_misc', 'ramfs'].map(mounts),
  { name: 'bind over the programs', attempt: 'sys mount /tmp /usr/local/bin none 4096 0' },
  { name: 'uncover the programs', attempt: 'sys umount2 /usr/local/bin/svc 2 || sys umount2 /usr/local/bin 2' },
  { name: 'uncover the sockets', attempt: 'sys umount2 /run/svc 2 || sys umount2 /run/svc/relay.sock 2' },
  {
    name: 'change the flags of a mount',
    attempt: perl('$a=pack("Q4",0,1,0,0);exit(syscall($ARGV[0],-100,"/usr",0,$a,32)==0?0:1)', 'mount_setattr'),
  },
  { name: 'reconfigure a mount', attempt: 'sys fspick -100 /usr 0' },
  { name: 'a mount from a file', attempt: 'sys fsmount 0 0 0' },
  { name: 'move a mount', attempt: 'sys move_mount -100 /usr -100 /tmp 0' },

  {
    name: 'a file with capabilities',
    attempt: `touch /tmp/capf && ${perl('$v=pack("L5",0x02000001,0xffffffff,0,0xffffffff,0);exit(syscall($ARGV[0],"/tmp/capf","security.capability",$v,20,0)==0?0:1)', 'setxattr')}`,
  },
  {
    name: 'a trusted attribute',
    attempt: `touch /tmp/capf && ${perl('$v="x";exit(syscall($ARGV[0],"/tmp/capf","trusted.x",$v,1,0)==0?0:1)', 'setxattr')}`,
  },
  { name: 'raise an ambient capability', attempt: 'sys prctl 47 2 21 0 0' },
  { name: 'change the secure bits', attempt: 'sys prctl 28 47 0 0 0' },
  { name: 'take no_new_privs back', attempt: 'sys prctl 38 0 0 0 0' },
  { name: 'take the filter back', attempt: 'sys prctl 22 0 0 0 0' },
  { name: 'sudo, su and their kin', attempt: 'sudo -n true || pkexec true || doas -n true || su -c true' },
  { name: 'give a file to another user', attempt: 'touch /tmp/own2 && chown 1001 /tmp/own2' },
  { name: 'be spared when memory is short', attempt: 'echo -1000 > /proc/self/oom_score_adj' },
  {
    name: 'a real-time priority',
    attempt: perl('$p=pack("i",50);exit(syscall($ARGV[0],0,1,$p)==0?0:1)', 'sched_setscheduler'),
  },
  { name: 'a real-time disk priority', attempt: 'sys ioprio_set 1 0 8192' },
  { name: 'lock all memory', attempt: 'ulimit -l unlimited' },
  { name: 'raise the limit of real time', attempt: 'prlimit --pid $$ --rtprio=99:99' },
  { name: 'a pipe beyond the limit', attempt: `perl -e 'pipe(R,W);exit(fcntl(W,1031,64*1024*1024)?0:1)'` },

  { name: 'read the page flags', attempt: 'head -c8 /proc/kpageflags || head -c8 /proc/kpagecount' },
  { name: 'read the maps of the kernel', attempt: 'head -c1 /proc/vmallocinfo || head -c1 /proc/slabinfo' },
  {
    name: 'kernel settings by /proc',
    attempt:
      'echo evil > /proc/sys/kernel/hostname || echo /tmp/x > /proc/sys/kernel/modprobe || echo 3 > /proc/sys/vm/drop_caches',
  },
  { name: 'a program for a file type', attempt: 'echo ":x:E::xx::/tmp/x:" > /proc/sys/fs/binfmt_misc/register' },
  { name: 'the next process number', attempt: 'echo 100000 > /proc/sys/kernel/ns_last_pid' },
  {
    name: 'firmware and security folders',
    attempt: 'ls /sys/firmware || ls /sys/kernel/debug || ls /sys/kernel/security',
  },
  {
    name: 'more devices',
    attempt:
      'ls /dev/loop-control || ls /dev/uinput || ls /dev/rtc0 || ls /dev/port || ls /dev/snapshot || ls /dev/cpu_dma_latency || ls /dev/autofs',
  },
  { name: 'a tunnel device of our own', attempt: 'mknod /tmp/tun c 10 200 || mknod /dev/tun c 10 200' },
  {
    name: 'type into a terminal of our own',
    attempt: perl(
      'open(F,"+<","/dev/ptmx") or exit 1;$c="x";exit(syscall($ARGV[0],fileno(F),0x5412,$c)==0?0:1)',
      'ioctl',
    ),
  },
  {
    name: 'paste into a console',
    attempt: perl(
      'open(F,"+<","/dev/ptmx") or exit 1;$c="\\003";exit(syscall($ARGV[0],fileno(F),0x541c,$c)==0?0:1)',
      'ioctl',
    ),
  },
  { name: 'hang up a terminal', attempt: 'sys vhangup' },

  { name: 'load a kernel from a file', attempt: 'sys kexec_file_load 0 0 0 x 0' },
  { name: 'load a module from memory', attempt: 'sys init_module x 1 x' },
  { name: 'stop swapping', attempt: 'sys swapoff /dev/vda' },
  { name: 'the domain of the machine', attempt: 'sys setdomainname evil 4' },
  {
    name: 'the old way to set the clock',
    attempt: perl('$t=pack("qq",1,0);exit(syscall($ARGV[0],$t,0)==0?0:1)', 'settimeofday'),
  },
  {
    name: 'bend the clock',
    attempt: perl('$t=pack("Lx4q26",1,0);exit(syscall($ARGV[0],0,$t)>=0?0:1)', 'clock_adjtime'),
  },
  { name: 'io_uring by its other calls', attempt: 'sys io_uring_enter 0 0 0 0 0 0 || sys io_uring_register 0 0 0 0' },
  { name: 'ask for a key', attempt: 'sys request_key user probe x -4' },
  { name: 'the session key ring', attempt: 'sys keyctl 1 probe || sys keyctl 11 -3 x 1' },
  {
    name: 'a handle of the root folder',
    attempt: perl(
      '$h=pack("Ii",128,0).("\\0"x128);$m=pack("i",0);exit(syscall($ARGV[0],-100,"/",$h,$m,0)==0?0:1)',
      'name_to_handle_at',
    ),
  },
  { name: 'ports of the machine', attempt: 'sys ioperm 0x70 2 1 || sys ioperm 112 2 1' },
  { name: 'segments of x86', attempt: perl('$b="\\0"x64;exit(syscall($ARGV[0],0,$b,64)>=0?0:1)', 'modify_ldt') },
  { name: 'quotas', attempt: 'sys quotactl 8388608 /dev/vda 0 x' },
  family('the kernel key manager', 15, 3, 2),
  family('CAN', 29, 3, 1),
  family('TIPC', 30, 2, 0),
  family('Bluetooth', 31, 3, 1),
  family('RDS', 21, 5, 0),
  family('XDP', 44, 3, 0),
  family('NFC', 39, 5, 0),
  family('the router of QIP', 42, 2, 0),
  family('audit', 16, 3, 9),
  family('device events', 16, 3, 15),
  family('IPsec', 16, 3, 6),
]
