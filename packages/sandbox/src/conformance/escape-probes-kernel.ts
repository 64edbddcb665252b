/** Attempts against the kernel: namespaces, mounts, privileges, devices, settings, unusual calls. */
import { perl } from './perl.ts'

const cloned = (flag: string) => perl(`$r=syscall($ARGV[0],${flag}|17,0,0,0,0);exit(1) if $r<0; exit 0`, 'clone')

export const kernelProbes: Record<string, string> = {
  'a process namespace by unshare': `sys unshare ${0x20000000}`,
  'a host name namespace by unshare': `sys unshare ${0x04000000}`,
  'a IPC namespace by unshare': `sys unshare ${0x08000000}`,
  'a control group namespace by unshare': `sys unshare ${0x02000000}`,
  'a time namespace by unshare': `sys unshare ${0x80}`,
  'a mount namespace by clone': cloned('0x00020000'),
  'a network namespace by clone': cloned('0x40000000'),
  'a process namespace by clone': cloned('0x20000000'),
  'enter a namespace by its file': perl(
    'open(F,"<","/proc/self/ns/user") or exit 1;exit(syscall($ARGV[0],fileno(F),0)==0?0:1)',
    'setns',
  ),
  'map own ids anew': 'echo "0 1000 1" > /proc/self/uid_map || echo "0 1000 1" > /proc/self/gid_map',
  'map ids by the setuid helper': 'newuidmap $$ 0 0 1 || newgidmap $$ 0 0 1',
  ...Object.fromEntries(
    ['proc', 'sysfs', 'cgroup2', 'cgroup', 'debugfs', 'overlay', 'devpts', 'bpf', 'binfmt_misc', 'ramfs'].map(
      (type) => [`mount ${type}`, `mkdir -p /tmp/m && sys mount none /tmp/m ${type} 0 0`],
    ),
  ),
  'bind over the programs': 'sys mount /tmp /usr/local/bin none 4096 0',
  'uncover the programs': 'sys umount2 /usr/local/bin/svc 2 || sys umount2 /usr/local/bin 2',
  'uncover the sockets': 'sys umount2 /run/svc 2 || sys umount2 /run/svc/relay 2',
  'change the flags of a mount': perl(
    '$a=pack("Q4",0,1,0,0);exit(syscall($ARGV[0],-100,"/usr",0,$a,32)==0?0:1)',
    'mount_setattr',
  ),
  'reconfigure a mount': 'sys fspick -100 /usr 0',
  'a mount from a file': 'sys fsmount 0 0 0',
  'move a mount': 'sys move_mount -100 /usr -100 /tmp 0',

  'a file with capabilities': `touch /tmp/capf && ${perl('$v=pack("L5",0x02000001,0xffffffff,0,0xffffffff,0);exit(syscall($ARGV[0],"/tmp/capf","security.capability",$v,20,0)==0?0:1)', 'setxattr')}`,
  'a trusted attribute': `touch /tmp/capf && ${perl('$v="x";exit(syscall($ARGV[0],"/tmp/capf","trusted.x",$v,1,0)==0?0:1)', 'setxattr')}`,
  'raise an ambient capability': 'sys prctl 47 2 21 0 0',
  'change the secure bits': 'sys prctl 28 47 0 0 0',
  'take no_new_privs back': 'sys prctl 38 0 0 0 0',
  'take the filter back': 'sys prctl 22 0 0 0 0',
  'sudo, su and their kin': 'sudo -n true || pkexec true || doas -n true || su -c true',
  'give a file to another user': 'touch /tmp/own2 && chown 1001 /tmp/own2',
  'be spared when memory is short': 'echo -1000 > /proc/self/oom_score_adj',
  'a real-time priority': perl('$p=pack("i",50);exit(syscall($ARGV[0],0,1,$p)==0?0:1)', 'sched_setscheduler'),
  'a real-time disk priority': 'sys ioprio_set 1 0 8192',
  'lock all memory': 'ulimit -l unlimited',
  'raise the limit of real time': 'prlimit --pid $$ --rtprio=99:99',
  'a pipe beyond the limit': `perl -e 'pipe(R,W);exit(fcntl(W,1031,64*1024*1024)?0:1)'`,

  'read the page flags': 'head -c8 /proc/kpageflags || head -c8 /proc/kpagecount',
  'read the maps of the kernel': 'head -c1 /proc/vmallocinfo || head -c1 /proc/slabinfo',
  'kernel settings by /proc':
    'echo evil > /proc/sys/kernel/hostname || echo /tmp/x > /proc/sys/kernel/modprobe || echo 3 > /proc/sys/vm/drop_caches',
  'a program for a file type': 'echo ":x:E::xx::/tmp/x:" > /proc/sys/fs/binfmt_misc/register',
  'the next process number': 'echo 100000 > /proc/sys/kernel/ns_last_pid',
  'firmware and security folders': 'ls /sys/firmware || ls /sys/kernel/debug || ls /sys/kernel/security',
  'more devices':
    'ls /dev/loop-control || ls /dev/uinput || ls /dev/rtc0 || ls /dev/port || ls /dev/snapshot || ls /dev/cpu_dma_latency || ls /dev/autofs',
  'a tunnel device of our own': 'mknod /tmp/tun c 10 200 || mknod /dev/tun c 10 200',
  'type into a terminal of our own': perl(
    'open(F,"+<","/dev/ptmx") or exit 1;$c="x";exit(syscall($ARGV[0],fileno(F),0x5412,$c)==0?0:1)',
    'ioctl',
  ),
  'paste into a console': perl(
    'open(F,"+<","/dev/ptmx") or exit 1;$c="\\003";exit(syscall($ARGV[0],fileno(F),0x541c,$c)==0?0:1)',
    'ioctl',
  ),
  'hang up a terminal': 'sys vhangup',

  'load a kernel from a file': 'sys kexec_file_load 0 0 0 x 0',
  'load a module from memory': 'sys init_module x 1 x',
  'stop swapping': 'sys swapoff /dev/vda',
  'the domain of the machine': 'sys setdomainname evil 4',
  'the old way to set the clock': perl('$t=pack("qq",1,0);exit(syscall($ARGV[0],$t,0)==0?0:1)', 'settimeofday'),
  'bend the clock': perl('$t=pack("Lx4q26",1,0);exit(syscall($ARGV[0],0,$t)>=0?0:1)', 'clock_adjtime'),
  'io_uring by its other calls': 'sys io_uring_enter 0 0 0 0 0 0 || sys io_uring_register 0 0 0 0',
  'ask for a key': 'sys request_key user probe x -4',
  'the session key ring': 'sys keyctl 1 probe || sys keyctl 11 -3 x 1',
  'a handle of the root folder': perl(
    '$h=pack("Ii",128,0).("\\0"x128);$m=pack("i",0);exit(syscall($ARGV[0],-100,"/",$h,$m,0)==0?0:1)',
    'name_to_handle_at',
  ),
  'ports of the machine': 'sys ioperm 0x70 2 1 || sys ioperm 112 2 1',
  'segments of x86': perl('$b="\\0"x64;exit(syscall($ARGV[0],0,$b,64)>=0?0:1)', 'modify_ldt'),
  quotas: 'sys quotactl 8388608 /dev/vda 0 x',
  'a socket of the kernel key manager': 'sys socket 15 3 2',
  'a socket of CAN': 'sys socket 29 3 1',
  'a socket of TIPC': 'sys socket 30 2 0',
  'a socket of Bluetooth': 'sys socket 31 3 1',
  'a socket of RDS': 'sys socket 21 5 0',
  'a socket of XDP': 'sys socket 44 3 0',
  'a socket of NFC': 'sys socket 39 5 0',
  'a socket of the router of QIP': 'sys socket 42 2 0',
  'a socket of audit': 'sys socket 16 3 9',
  'a socket of device events': 'sys socket 16 3 15',
  'a socket of IPsec': 'sys socket 16 3 6',
}
