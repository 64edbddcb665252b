/**
 * Attempts to leave a sandbox, or to harm anything but the agent's own files, as the agent's uid. Each is a piece of
 * bash that exits 0 only when the attempt succeeds, so each must fail. The controls use the same tools for permitted
 * things and must succeed: they prove that a failure comes from the isolation and not from a missing program. No
 * packet goes to a real address: the canaries listen on the host's loopback, and other addresses are covered by the
 * absence of interfaces and routes.
 */

import { kernelProbes } from './escape-probes-kernel.ts'
import { neighborProbes } from './escape-probes-neighbors.ts'
import { perl } from './perl.ts'
import { systemCallNumbers } from '../system-calls.ts'

/** Its name, and the piece of bash. */
type Probe = [name: string, attempt: string]

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

const escapeControls: Probe[] = Object.entries({
  'a system call by number works': 'sys getpid',
  'the work tree is writable': 'echo x > /workspace/.probe && rm /workspace/.probe',
  'the temporary folder is writable': 'echo x > /tmp/probe && rm /tmp/probe',
  'loopback works': 'tcp 127.0.0.1 8000',
  'a socket of a permitted family opens': 'sys socket 2 1 0',
  'own processes can be signalled': 'sleep 9 & kill $!',
  'a thread starts': "perl -e '$p=fork; exit 0 unless $p; waitpid $p,0; exit $?'",
})

export const escapeProbes: Probe[] = Object.entries({
  // The daemon: its memory, its environment, its life.
  'environment of PID 1': 'cat /proc/1/environ',
  'environment of the daemon': `cat /proc/${daemon}/environ`,
  'memory of PID 1': 'head -c1 /proc/1/mem || dd if=/proc/1/mem bs=1 count=1 skip=4194304',
  'memory map of the daemon': `cat /proc/${daemon}/maps | grep -q .`,
  'open files of PID 1': 'ls /proc/1/fd',
  'root folder of PID 1': 'ls /proc/1/root/',
  'working folder of PID 1': 'readlink /proc/1/cwd',
  'trace PID 1': 'sys ptrace 16 1 0 0',
  'seize the daemon': `sys ptrace 16902 ${daemon} 0 0`,
  'read memory of PID 1 by process_vm_readv': perl(
    '$b="x"x8;$l=pack("QQ",unpack("Q",pack("p",$b)),8);$r=pack("QQ",4194304,8);exit(syscall($ARGV[0],1,$l,1,$r,1,0)==8?0:1)',
    'process_vm_readv',
  ),
  'kill PID 1': 'kill -9 1',
  'stop the daemon': `kill -STOP ${daemon}`,
  'signal the daemon by pidfd': `${perl('$f=syscall($ARGV[0],$ARGV[2]+0,0);exit 1 if $f<0;exit(syscall($ARGV[1],$f,15,0,0)==0?0:1)', 'pidfd_open', 'pidfd_send_signal')} ${daemon}`,
  'take a file of PID 1 by pidfd': perl(
    '$f=syscall($ARGV[0],1,0);exit 1 if $f<0;exit(syscall($ARGV[1],$f,0,0)>=0?0:1)',
    'pidfd_open',
    'pidfd_getfd',
  ),
  'make the daemon the first to die': `echo 1000 > /proc/${daemon}/oom_score_adj`,
  'slow the daemon down': 'sys setpriority 0 1 19',
  'replace the socket of the daemon': 'rm -f /run/svc/daemon.sock && test ! -e /run/svc/daemon.sock',
  'connect to the socket of the daemon':
    'perl -MSocket -e \'socket(S,AF_UNIX,SOCK_STREAM,0);exit(connect(S,pack_sockaddr_un("/run/svc/daemon.sock"))?0:1)\'',
  'write beside the sockets': 'touch /run/svc/x',
  'write the kernel view of PID 1': 'echo x > /proc/1/comm',

  // Other ids and more privileges.
  'become root': 'sys setuid 0',
  'become another user': 'sys setresuid 1001 1001 1001',
  'become the root group': 'sys setgid 0',
  'join groups': 'sys setgroups 0 0',
  'a setuid program':
    'for f in /usr/bin/su /usr/bin/passwd /usr/bin/newgrp /usr/bin/mount; do test -u $f || continue; cp $f /tmp/s$$; done; su -c true root </dev/null || newgrp root </dev/null',
  'a setuid file of our own':
    'cp /usr/bin/id /tmp/sid && chmod u+s /tmp/sid && chown 0 /tmp/sid && /tmp/sid | grep -q euid=0',
  capabilities: perl(
    '$h=pack("LL",0x20080522,0);$d=pack("LLLLLL",0xff,0xff,0,0,0,0);exit(syscall($ARGV[0],$h,$d)==0?0:1)',
    'capset',
  ),
  'any capability at all': 'grep -E "^Cap(Prm|Eff|Amb|Inh)" /proc/self/status | grep -qv 0000000000000000',
  'new privileges by exec': 'grep -q "NoNewPrivs:.0" /proc/self/status',
  'no system call filter': 'grep -q "^Seccomp:.0" /proc/self/status',
  'give a file to root': 'touch /tmp/own && chown 0:0 /tmp/own',

  // Namespaces and mounts.
  'a user namespace by unshare': 'sys unshare 268435456',
  'a mount namespace by unshare': 'sys unshare 131072',
  'a network namespace by unshare': 'sys unshare 1073741824',
  'the unshare program': 'unshare --user --map-root-user true',
  'a sandbox in the sandbox': 'bwrap --unshare-user --ro-bind / / true',
  'a user namespace by clone': perl('$r=syscall($ARGV[0],0x10000011,0,0,0,0);exit(1) if $r<0; exit 0', 'clone'),
  'a user namespace by clone3': perl(
    '$a=pack("Q11",0x10000000,0,0,0,17,0,0,0,0,0,0);$r=syscall($ARGV[0],$a,88);exit($r<0?1:0)',
    'clone3',
  ),
  'join the namespaces of PID 1': 'nsenter -t 1 -m true || nsenter -t 1 -U true || nsenter -t 1 -n true',
  'mount a tmpfs': 'mkdir -p /tmp/m && sys mount none /tmp/m tmpfs 0 0',
  'mount by the new calls': 'sys fsopen tmpfs 0',
  'copy a mount': 'sys open_tree -100 / 1',
  'make /usr writable': 'sys mount none /usr none 4128 0',
  'unmount /proc': 'sys umount2 /proc 2',
  'pivot the root': 'sys pivot_root / /tmp',
  chroot: 'sys chroot /tmp',
  'a second /proc': 'mkdir -p /tmp/p && mount -t proc proc /tmp/p',

  // Files of the host.
  'write /usr': 'touch /usr/x',
  'write the programs': 'echo x > /usr/local/bin/svc || touch /usr/local/bin/x',
  'write /etc': 'touch /etc/x || echo x >> /etc/passwd || echo x > /etc/hosts',
  'write the root folder': 'touch /x || mkdir /y',
  'write the libraries': 'touch /lib/x /usr/lib/x',
  'read the shadow file': 'cat /etc/shadow',
  'read a file of the host': 'cat "$HOST_FILE"',
  'see the state of the server': 'ls "$STATE_FOLDER"',
  'see another sandbox': 'ls "$OTHER_FOLDER"',
  'see /root, /home, /var/lib of the host': 'ls /root || ls -A /home/* || ls /var/lib/dpkg',
  'see the boot folder': 'ls /boot || ls /srv || ls /mnt || ls /media',
  'climb by open handles': perl(
    '$h=pack("Li",8,1).("\\0"x120);exit(syscall($ARGV[0],-100,$h,0)>=0?0:1)',
    'open_by_handle_at',
  ),
  'write the configuration of the runtime':
    'echo "{}" > /opt/svc/runtime/opencode.json || echo x > /opt/svc/session.env',

  // Devices and the kernel.
  'make a device': 'mknod /tmp/d b 8 0 || mknod /workspace/d c 1 1',
  disks: 'ls /dev/vda || ls /dev/sda || ls /dev/nvme0n1 || ls /dev/loop0 || ls /dev/mapper',
  'memory devices': 'head -c1 /dev/mem || head -c1 /dev/kmem || head -c1 /proc/kcore',
  'kernel log': 'head -c1 /dev/kmsg || sys syslog 3 0 0',
  'kvm, fuse, tun': 'ls /dev/kvm || ls /dev/fuse || ls /dev/net/tun || ls /dev/vsock',
  'write into /dev': 'touch /dev/x',
  'write kernel settings':
    'echo 1 > /proc/sys/kernel/core_pattern || echo 0 > /proc/sys/kernel/randomize_va_space || echo 1 > /proc/sys/net/ipv4/ip_forward',
  'ask for a crash': 'echo b > /proc/sysrq-trigger',
  'write /sys': 'ls /sys/kernel || echo x > /sys/kernel/uevent_helper',
  'control groups': 'ls /sys/fs/cgroup/memory || ls /sys/fs/cgroup/cgroup.procs || mkdir /sys/fs/cgroup/x',
  'load a module': 'sys finit_module 0 x 0',
  'remove a module': 'sys delete_module ext4 2048',
  'load a kernel': 'sys kexec_load 0 0 0 0',
  'restart the machine': 'sys reboot 4276215469 672274793 0 0',
  swap: 'sys swapon /tmp/x 0',
  'set the clock': perl('$t=pack("qq",1,0);exit(syscall($ARGV[0],0,$t)==0?0:1)', 'clock_settime'),
  'rename the machine': 'sys sethostname evil 4',
  bpf: perl('$a=pack("LLLL",2,4,4,1).("\\0"x112);exit(syscall($ARGV[0],0,$a,128)>=0?0:1)', 'bpf'),
  'performance events': perl(
    '$a=pack("LL",1,112).("\\0"x104);exit(syscall($ARGV[0],$a,0,-1,-1,0)>=0?0:1)',
    'perf_event_open',
  ),
  userfaultfd: 'sys userfaultfd 1',
  io_uring: perl('$p="\\0"x120;exit(syscall($ARGV[0],4,$p)>=0?0:1)', 'io_uring_setup'),
  fanotify: 'sys fanotify_init 0 0',
  'key rings': 'sys keyctl 0 -3 1',
  'add a key': 'sys add_key user probe x 1 -4',
  'process accounting': 'sys acct /tmp/acct',
  'input and output ports': 'sys iopl 3',
  'type into the terminal': perl('$c="x";exit(syscall($ARGV[0],0,0x5412,$c)==0?0:1)', 'ioctl'),

  // The network.
  'a port of the host': 'tcp 127.0.0.1 "$CANARY_PORT"',
  'a port of the host over IPv6': 'tcp ::1 "$CANARY_PORT"',
  'a port of the host under its name': 'tcp localhost "$CANARY_PORT"',
  'an abstract socket of the host':
    'perl -MSocket -e \'socket(S,AF_UNIX,SOCK_STREAM,0);exit(connect(S,pack_sockaddr_un("\\0$ARGV[0]"))?0:1)\' "$CANARY_ABSTRACT"',
  // With only lo and no route, no other address is reachable, so nothing is sent.
  'an interface besides lo': 'tail -n +3 /proc/net/dev | grep -qv "^ *lo:"',
  'a route': 'tail -n +2 /proc/net/route | grep -q .',
  'an IPv6 route away from lo': 'grep -qv " lo$" /proc/net/ipv6_route',
  'resolve a name': 'getent hosts example.invalid',
  'a raw socket': 'sys socket 2 3 1',
  'a packet socket': 'sys socket 17 3 768',
  'a socket to the hypervisor': 'sys socket 40 1 0',
  'a socket of the kernel crypto': 'sys socket 38 5 0',
  'a netfilter socket': 'sys socket 16 3 12',
  'change the interface': 'ip link set lo down || ip link add dummy0 type dummy || ip addr add 10.0.0.1/8 dev lo',

  // Processes of the host and of other sandboxes.
  'see a process of the host': 'test "$(ls -d /proc/[0-9]* | wc -l)" -gt "$PROCESSES"',
  'signal a process of the host': 'test -e "/proc/$HOST_PID" || kill -0 "$HOST_PID"',
  'shared memory of the host': 'test "$(tail -n +2 /proc/sysvipc/shm | wc -l)" -gt 0 || test -n "$(ls -A /dev/shm)"',
  'raise own limits': 'ulimit -u unlimited || ulimit -Hn 10000000',
  'a better priority': "nice -n -5 true 2>&1 | grep -q . && exit 1; perl -e 'setpriority(0,0,-5) or exit 1'",

  ...kernelProbes,
  ...neighborProbes,
})

/** Attempts to exhaust resources. The limits must hold; other processes of the agent may suffer. */
export const exhaustionProbes: Probe[] = Object.entries({
  'more files than fit': 'head -c "$DISK_BYTES" /dev/zero > /workspace/big; code=$?; rm -f /workspace/big; exit $code',
  'more files than fit in /tmp': 'head -c "$DISK_BYTES" /dev/zero > /tmp/big; code=$?; rm -f /tmp/big; exit $code',
  'more shared memory than fits': 'head -c 100000000 /dev/zero > /dev/shm/big; code=$?; rm -f /dev/shm/big; exit $code',
  'more memory than allowed':
    'perl -e \'$x="x" x $ARGV[0]; substr($x,$_*4096,1)="y" for 0..$ARGV[0]/4096-1; exit 0\' "$MEMORY_BYTES"',
  // Waits for its children, so that the next attempt has their room again.
  'more processes than allowed': `perl -e 'while (@p <= $ARGV[0]) { $p=fork; last unless defined $p; if (!$p) { sleep 60; exit } push @p,$p } kill 9,@p; waitpid $_,0 for @p; exit(@p > $ARGV[0] ? 0 : 1)' "$PROCESSES"`,
})

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
  const run = ([name, attempt]: Probe, on: 'success' | 'failure', word: string) =>
    `timeout -k 1 40 bash -c ${quoted(attempt)} </dev/null >/dev/null 2>&1 ${on === 'success' ? '&&' : '||'} echo ${quoted(`${word}: ${name}`)}`
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
