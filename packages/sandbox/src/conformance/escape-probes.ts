/**
 * Attempts to leave a sandbox, or to harm anything but the agent's own files, as the agent's uid. Each is a piece of
 * bash that exits 0 only when the attempt succeeds, so each must fail. The controls use the same tools for permitted
 * things and must succeed: they prove that a failure comes from the isolation and not from a missing program. No
 * packet goes to a real address: the canaries listen on the host's loopback, and other addresses are covered by the
 * absence of interfaces and routes.
 */

import { kernelProbes } from './escape-probes-kernel.ts'
import { neighborProbes } from './escape-probes-neighbors.ts'
import { systemCallNumbers } from '../system-calls.ts'

export interface Probe {
  name: string
  attempt: string
}

/** The targets of the attempts, passed as shell variables. */
export interface Targets {
  /** A TCP port on the host's loopback with a listener; the same for an abstract socket. */
  CANARY_PORT: string
  CANARY_ABSTRACT: string
  /** A readable file of the host. */
  HOST_FILE: string
  /** The folder of another live sandbox, and of the server's state. */
  OTHER_FOLDER: string
  STATE_FOLDER: string
  /** The host's pid of a host process. */
  HOST_PID: string
  /** Above what the limits allow. */
  DISK_BYTES: string
  MEMORY_BYTES: string
  PROCESSES: string
}

const daemon = '"$(pgrep -o svc-agent || echo 1)"'

export const escapeControls: Probe[] = [
  { name: 'a system call by number works', attempt: 'sys getpid' },
  { name: 'the work tree is writable', attempt: 'echo x > /workspace/.probe && rm /workspace/.probe' },
  { name: 'the temporary folder is writable', attempt: 'echo x > /tmp/probe && rm /tmp/probe' },
  { name: 'loopback works', attempt: 'tcp 127.0.0.1 8000' },
  { name: 'a socket of a permitted family opens', attempt: 'sys socket 2 1 0' },
  { name: 'own processes can be signalled', attempt: 'sleep 9 & kill $!' },
  { name: 'a thread starts', attempt: "perl -e '$p=fork; exit 0 unless $p; waitpid $p,0; exit $?'" },
]

export const escapeProbes: Probe[] = [
  // The daemon: its memory, its environment, its life.
  { name: 'environment of PID 1', attempt: 'cat /proc/1/environ' },
  { name: 'environment of the daemon', attempt: `cat /proc/${daemon}/environ` },
  { name: 'memory of PID 1', attempt: 'head -c1 /proc/1/mem || dd if=/proc/1/mem bs=1 count=1 skip=4194304' },
  { name: 'memory map of the daemon', attempt: `cat /proc/${daemon}/maps | grep -q .` },
  { name: 'open files of PID 1', attempt: 'ls /proc/1/fd' },
  { name: 'root folder of PID 1', attempt: 'ls /proc/1/root/' },
  { name: 'working folder of PID 1', attempt: 'readlink /proc/1/cwd' },
  { name: 'trace PID 1', attempt: 'sys ptrace 16 1 0 0' },
  { name: 'seize the daemon', attempt: `sys ptrace 16902 ${daemon} 0 0` },
  {
    name: 'read memory of PID 1 by process_vm_readv',
    attempt:
      'perl -e \'$b="x"x8;$l=pack("QQ",unpack("Q",pack("p",$b)),8);$r=pack("QQ",4194304,8);exit(syscall($ARGV[0],1,$l,1,$r,1,0)==8?0:1)\' "$SYS_process_vm_readv"',
  },
  { name: 'kill PID 1', attempt: 'kill -9 1' },
  { name: 'stop the daemon', attempt: `kill -STOP ${daemon}` },
  {
    name: 'signal the daemon by pidfd',
    attempt: `perl -e '$f=syscall($ARGV[0],$ARGV[2]+0,0);exit 1 if $f<0;exit(syscall($ARGV[1],$f,15,0,0)==0?0:1)' "$SYS_pidfd_open" "$SYS_pidfd_send_signal" ${daemon}`,
  },
  {
    name: 'take a file of PID 1 by pidfd',
    attempt:
      'perl -e \'$f=syscall($ARGV[0],1,0);exit 1 if $f<0;exit(syscall($ARGV[1],$f,0,0)>=0?0:1)\' "$SYS_pidfd_open" "$SYS_pidfd_getfd"',
  },
  { name: 'make the daemon the first to die', attempt: `echo 1000 > /proc/${daemon}/oom_score_adj` },
  { name: 'slow the daemon down', attempt: 'sys setpriority 0 1 19' },
  { name: 'replace the socket of the daemon', attempt: 'rm -f /run/svc/daemon.sock && test ! -e /run/svc/daemon.sock' },
  {
    name: 'connect to the socket of the daemon',
    attempt:
      'perl -MSocket -e \'socket(S,AF_UNIX,SOCK_STREAM,0);exit(connect(S,pack_sockaddr_un("/run/svc/daemon.sock"))?0:1)\'',
  },
  { name: 'write beside the sockets', attempt: 'touch /run/svc/x' },
  { name: 'write the kernel view of PID 1', attempt: 'echo x > /proc/1/comm' },

  // Other ids and more privileges.
  { name: 'become root', attempt: 'sys setuid 0' },
  { name: 'become another user', attempt: 'sys setresuid 1001 1001 1001' },
  { name: 'become the root group', attempt: 'sys setgid 0' },
  { name: 'join groups', attempt: 'sys setgroups 0 0' },
  {
    name: 'a setuid program',
    attempt:
      'for f in /usr/bin/su /usr/bin/passwd /usr/bin/newgrp /usr/bin/mount; do test -u $f || continue; cp $f /tmp/s$$; done; su -c true root </dev/null || newgrp root </dev/null',
  },
  {
    name: 'a setuid file of our own',
    attempt: 'cp /usr/bin/id /tmp/sid && chmod u+s /tmp/sid && chown 0 /tmp/sid && /tmp/sid | grep -q euid=0',
  },
  {
    name: 'capabilities',
    attempt:
      'perl -e \'$h=pack("LL",0x20080522,0);$d=pack("LLLLLL",0xff,0xff,0,0,0,0);exit(syscall($ARGV[0],$h,$d)==0?0:1)\' "$SYS_capset"',
  },
  {
    name: 'any capability at all',
    attempt: 'grep -E "^Cap(Prm|Eff|Amb|Inh)" /proc/self/status | grep -qv 0000000000000000',
  },
  { name: 'new privileges by exec', attempt: 'grep -q "NoNewPrivs:.0" /proc/self/status' },
  { name: 'no system call filter', attempt: 'grep -q "^Seccomp:.0" /proc/self/status' },
  { name: 'give a file to root', attempt: 'touch /tmp/own && chown 0:0 /tmp/own' },

  // Namespaces and mounts.
  { name: 'a user namespace by unshare', attempt: 'sys unshare 268435456' },
  { name: 'a mount namespace by unshare', attempt: 'sys unshare 131072' },
  { name: 'a network namespace by unshare', attempt: 'sys unshare 1073741824' },
  { name: 'the unshare program', attempt: 'unshare --user --map-root-user true' },
  { name: 'a sandbox in the sandbox', attempt: 'bwrap --unshare-user --ro-bind / / true' },
  {
    name: 'a user namespace by clone',
    attempt: 'perl -e \'$r=syscall($ARGV[0],0x10000011,0,0,0,0);exit(1) if $r<0; exit 0\' "$SYS_clone"',
  },
  {
    name: 'a user namespace by clone3',
    attempt:
      'perl -e \'$a=pack("Q11",0x10000000,0,0,0,17,0,0,0,0,0,0);$r=syscall($ARGV[0],$a,88);exit($r<0?1:0)\' "$SYS_clone3"',
  },
  {
    name: 'join the namespaces of PID 1',
    attempt: 'nsenter -t 1 -m true || nsenter -t 1 -U true || nsenter -t 1 -n true',
  },
  { name: 'mount a tmpfs', attempt: 'mkdir -p /tmp/m && sys mount none /tmp/m tmpfs 0 0' },
  { name: 'mount by the new calls', attempt: 'sys fsopen tmpfs 0' },
  { name: 'copy a mount', attempt: 'sys open_tree -100 / 1' },
  { name: 'make /usr writable', attempt: 'sys mount none /usr none 4128 0' },
  { name: 'unmount /proc', attempt: 'sys umount2 /proc 2' },
  { name: 'pivot the root', attempt: 'sys pivot_root / /tmp' },
  { name: 'chroot', attempt: 'sys chroot /tmp' },
  { name: 'a second /proc', attempt: 'mkdir -p /tmp/p && mount -t proc proc /tmp/p' },

  // Files of the host.
  { name: 'write /usr', attempt: 'touch /usr/x' },
  { name: 'write the programs', attempt: 'echo x > /usr/local/bin/svc || touch /usr/local/bin/x' },
  { name: 'write /etc', attempt: 'touch /etc/x || echo x >> /etc/passwd || echo x > /etc/hosts' },
  { name: 'write the root folder', attempt: 'touch /x || mkdir /y' },
  { name: 'write the libraries', attempt: 'touch /lib/x /usr/lib/x' },
  { name: 'read the shadow file', attempt: 'cat /etc/shadow' },
  { name: 'read a file of the host', attempt: 'cat "$HOST_FILE"' },
  { name: 'see the state of the server', attempt: 'ls "$STATE_FOLDER"' },
  { name: 'see another sandbox', attempt: 'ls "$OTHER_FOLDER"' },
  { name: 'see /root, /home, /var/lib of the host', attempt: 'ls /root || ls -A /home/* || ls /var/lib/dpkg' },
  { name: 'see the boot folder', attempt: 'ls /boot || ls /srv || ls /mnt || ls /media' },
  {
    name: 'climb by open handles',
    attempt:
      'perl -e \'$h=pack("Li",8,1).("\\0"x120);exit(syscall($ARGV[0],-100,$h,0)>=0?0:1)\' "$SYS_open_by_handle_at"',
  },
  {
    name: 'write the configuration of the runtime',
    attempt: 'echo "{}" > /opt/svc/runtime/opencode.json || echo x > /opt/svc/session.env',
  },

  // Devices and the kernel.
  { name: 'make a device', attempt: 'mknod /tmp/d b 8 0 || mknod /workspace/d c 1 1' },
  { name: 'disks', attempt: 'ls /dev/vda || ls /dev/sda || ls /dev/nvme0n1 || ls /dev/loop0 || ls /dev/mapper' },
  { name: 'memory devices', attempt: 'head -c1 /dev/mem || head -c1 /dev/kmem || head -c1 /proc/kcore' },
  { name: 'kernel log', attempt: 'head -c1 /dev/kmsg || sys syslog 3 0 0' },
  { name: 'kvm, fuse, tun', attempt: 'ls /dev/kvm || ls /dev/fuse || ls /dev/net/tun || ls /dev/vsock' },
  { name: 'write into /dev', attempt: 'touch /dev/x' },
  {
    name: 'write kernel settings',
    attempt:
      'echo 1 > /proc/sys/kernel/core_pattern || echo 0 > /proc/sys/kernel/randomize_va_space || echo 1 > /proc/sys/net/ipv4/ip_forward',
  },
  { name: 'ask for a crash', attempt: 'echo b > /proc/sysrq-trigger' },
  { name: 'write /sys', attempt: 'ls /sys/kernel || echo x > /sys/kernel/uevent_helper' },
  {
    name: 'control groups',
    attempt: 'ls /sys/fs/cgroup/memory || ls /sys/fs/cgroup/cgroup.procs || mkdir /sys/fs/cgroup/x',
  },
  { name: 'load a module', attempt: 'sys finit_module 0 x 0' },
  { name: 'remove a module', attempt: 'sys delete_module ext4 2048' },
  { name: 'load a kernel', attempt: 'sys kexec_load 0 0 0 0' },
  { name: 'restart the machine', attempt: 'sys reboot 4276215469 672274793 0 0' },
  { name: 'swap', attempt: 'sys swapon /tmp/x 0' },
  {
    name: 'set the clock',
    attempt: 'perl -e \'$t=pack("qq",1,0);exit(syscall($ARGV[0],0,$t)==0?0:1)\' "$SYS_clock_settime"',
  },
  { name: 'rename the machine', attempt: 'sys sethostname evil 4' },
  {
    name: 'bpf',
    attempt: 'perl -e \'$a=pack("LLLL",2,4,4,1).("\\0"x112);exit(syscall($ARGV[0],0,$a,128)>=0?0:1)\' "$SYS_bpf"',
  },
  {
    name: 'performance events',
    attempt:
      'perl -e \'$a=pack("LL",1,112).("\\0"x104);exit(syscall($ARGV[0],$a,0,-1,-1,0)>=0?0:1)\' "$SYS_perf_event_open"',
  },
  { name: 'userfaultfd', attempt: 'sys userfaultfd 1' },
  { name: 'io_uring', attempt: 'perl -e \'$p="\\0"x120;exit(syscall($ARGV[0],4,$p)>=0?0:1)\' "$SYS_io_uring_setup"' },
  { name: 'fanotify', attempt: 'sys fanotify_init 0 0' },
  { name: 'key rings', attempt: 'sys keyctl 0 -3 1' },
  { name: 'add a key', attempt: 'sys add_key user probe x 1 -4' },
  { name: 'process accounting', attempt: 'sys acct /tmp/acct' },
  { name: 'input and output ports', attempt: 'sys iopl 3' },
  {
    name: 'type into the terminal',
    attempt: 'perl -e \'$c="x";exit(syscall($ARGV[0],0,0x5412,$c)==0?0:1)\' "$SYS_ioctl"',
  },

  // The network.
  { name: 'a port of the host', attempt: 'tcp 127.0.0.1 "$CANARY_PORT"' },
  { name: 'a port of the host over IPv6', attempt: 'tcp ::1 "$CANARY_PORT"' },
  { name: 'a port of the host under its name', attempt: 'tcp localhost "$CANARY_PORT"' },
  {
    name: 'an abstract socket of the host',
    attempt:
      'perl -MSocket -e \'socket(S,AF_UNIX,SOCK_STREAM,0);exit(connect(S,pack_sockaddr_un("\\0$ARGV[0]"))?0:1)\' "$CANARY_ABSTRACT"',
  },
  // With only lo and no route, no other address is reachable, so nothing is sent.
  { name: 'an interface besides lo', attempt: 'tail -n +3 /proc/net/dev | grep -qv "^ *lo:"' },
  { name: 'a route', attempt: 'tail -n +2 /proc/net/route | grep -q .' },
  { name: 'an IPv6 route away from lo', attempt: 'grep -qv " lo$" /proc/net/ipv6_route' },
  { name: 'resolve a name', attempt: 'getent hosts example.invalid' },
  { name: 'a raw socket', attempt: 'sys socket 2 3 1' },
  { name: 'a packet socket', attempt: 'sys socket 17 3 768' },
  { name: 'a socket to the hypervisor', attempt: 'sys socket 40 1 0' },
  { name: 'a socket of the kernel crypto', attempt: 'sys socket 38 5 0' },
  { name: 'a netfilter socket', attempt: 'sys socket 16 3 12' },
  {
    name: 'change the interface',
    attempt: 'ip link set lo down || ip link add dummy0 type dummy || ip addr add 10.0.0.1/8 dev lo',
  },

  // Processes of the host and of other sandboxes.
  { name: 'see a process of the host', attempt: 'test "$(ls -d /proc/[0-9]* | wc -l)" -gt "$PROCESSES"' },
  { name: 'signal a process of the host', attempt: 'test -e "/proc/$HOST_PID" || kill -0 "$HOST_PID"' },
  {
    name: 'shared memory of the host',
    attempt: 'test "$(tail -n +2 /proc/sysvipc/shm | wc -l)" -gt 0 || test -n "$(ls -A /dev/shm)"',
  },
  { name: 'raise own limits', attempt: 'ulimit -u unlimited || ulimit -Hn 10000000' },
  {
    name: 'a better priority',
    attempt: "nice -n -5 true 2>&1 | grep -q . && exit 1; perl -e 'setpriority(0,0,-5) or exit 1'",
  },

  ...kernelProbes,
  ...neighborProbes,
]

/** Attempts to exhaust resources. The limits must hold; other processes of the agent may suffer. */
export const exhaustionProbes: Probe[] = [
  {
    name: 'more files than fit',
    attempt: 'head -c "$DISK_BYTES" /dev/zero > /workspace/big; code=$?; rm -f /workspace/big; exit $code',
  },
  {
    name: 'more files than fit in /tmp',
    attempt: 'head -c "$DISK_BYTES" /dev/zero > /tmp/big; code=$?; rm -f /tmp/big; exit $code',
  },
  {
    name: 'more shared memory than fits',
    attempt: 'head -c 100000000 /dev/zero > /dev/shm/big; code=$?; rm -f /dev/shm/big; exit $code',
  },
  {
    name: 'more memory than allowed',
    attempt: 'perl -e \'$x="x" x $ARGV[0]; substr($x,$_*4096,1)="y" for 0..$ARGV[0]/4096-1; exit 0\' "$MEMORY_BYTES"',
  },
  {
    name: 'more processes than allowed',
    // Waits for its children, so that the next attempt has their room again.
    attempt: `perl -e 'while (@p <= $ARGV[0]) { $p=fork; last unless defined $p; if (!$p) { sleep 60; exit } push @p,$p } kill 9,@p; waitpid $_,0 for @p; exit(@p > $ARGV[0] ? 0 : 1)' "$PROCESSES"`,
  },
]

/** A bash script that prints a line for each control that failed and each attempt that succeeded. */
export function probeScript(targets: Targets, probes: Probe[], architecture: string = process.arch): string {
  const variables = Object.entries({
    ...targets,
    ...Object.fromEntries(
      Object.entries(systemCallNumbers(architecture)).map(([name, call]) => [`SYS_${name}`, String(call)]),
    ),
  }).map(([name, value]) => `export ${name}='${value}'`)
  const tools = [
    // A string argument is passed as a pointer, a number as is.
    `sys() { local v="SYS_$1"; shift; perl -e 'my $n=shift; my @a=map { /^-?\\d+$/ ? $_+0 : $_ } @ARGV; my $r=syscall($n,@a); exit($r==-1 ? 1 : 0)' "\${!v}" "$@"; }`,
    `tcp() { perl -MIO::Socket::IP -e 'exit(IO::Socket::IP->new(PeerHost=>$ARGV[0],PeerPort=>$ARGV[1],Timeout=>3)?0:1)' "$1" "$2"; }`,
    // Sends one line to a proxy; exits 0 on a success status.
    `via() { perl -MIO::Socket::IP -e '$s=IO::Socket::IP->new(PeerHost=>"127.0.0.1",PeerPort=>$ARGV[0],Timeout=>3) or exit 1; alarm 10; print $s "$ARGV[1] HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"; exit((<$s>//"")=~/^HTTP\\/1.. 2/ ? 0 : 1)' "$1" "$2"; }`,
    'export -f sys tcp via',
  ]
  const run = (probe: Probe, on: 'success' | 'failure', word: string) =>
    `timeout -k 1 40 bash -c ${quoted(probe.attempt)} </dev/null >/dev/null 2>&1 ${on === 'success' ? '&&' : '||'} echo ${quoted(`${word}: ${probe.name}`)}`
  return [
    ...variables,
    ...tools,
    ...escapeControls.map((probe) => run(probe, 'failure', 'CONTROL FAILED')),
    ...probes.map((probe) => run(probe, 'success', 'ESCAPED')),
    // Run the controls again: an attempt that broke the tools would make all later ones fail.
    ...escapeControls.map((probe) => run(probe, 'failure', 'CONTROL FAILED')),
    `echo 'PROBES RUN: ${probes.length}'`,
  ].join('\n')
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
