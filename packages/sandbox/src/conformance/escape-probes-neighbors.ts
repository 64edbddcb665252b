/** Attempts against neighbors: the daemon by less known ways, the relays, other sandboxes. */
import type { Probe } from './escape-probes.ts'

const perl = (code: string, ...calls: string[]) =>
  `perl -e '${code}' ${calls.map((call) => `"$SYS_${call}"`).join(' ')}`
const relay = 61080
const egress = 61081
/** Nothing leaves this machine: a success shows before anything is sent on. */
const proxied = (way: string, port: number, line: string): Probe => ({
  name: `${way}: ${line}`,
  attempt: `via ${port} "${line}"`,
})

export const neighborProbes: Probe[] = [
  { name: 'auxiliary vector of PID 1', attempt: 'head -c1 /proc/1/auxv | grep -q .' },
  { name: 'stack and state of PID 1', attempt: 'cat /proc/1/stack || cat /proc/1/syscall || cat /proc/1/personality' },
  { name: 'what PID 1 reads and writes', attempt: 'cat /proc/1/io' },
  { name: 'pages of PID 1', attempt: 'head -c8 /proc/1/pagemap | grep -q .' },
  { name: 'namespaces of PID 1', attempt: 'readlink /proc/1/ns/net' },
  { name: 'environment of the threads of PID 1', attempt: 'cat /proc/1/task/1/environ' },
  { name: 'the program file of PID 1', attempt: 'readlink /proc/1/exe' },
  { name: 'what of PID 1 is dumped', attempt: 'echo 0xff > /proc/1/coredump_filter' },
  { name: 'forget the pages of PID 1', attempt: 'echo 1 > /proc/1/clear_refs' },
  { name: 'a signal of nothing to PID 1', attempt: 'kill -0 1' },
  { name: 'a signal to a thread of PID 1', attempt: 'sys tgkill 1 1 15' },
  {
    name: 'a queued signal to PID 1',
    attempt: perl('$i=pack("iii",15,0,-1).("\\0"x116);exit(syscall($ARGV[0],1,15,$i)==0?0:1)', 'rt_sigqueueinfo'),
  },
  { name: 'limits of PID 1', attempt: 'prlimit --pid 1 --nofile=1:1' },
  {
    name: 'processors of PID 1',
    attempt: perl('$m=pack("Q",1);exit(syscall($ARGV[0],1,8,$m)==0?0:1)', 'sched_setaffinity'),
  },
  {
    name: 'write memory of PID 1',
    attempt: perl(
      '$b="x"x8;$l=pack("QQ",unpack("Q",pack("p",$b)),8);$r=pack("QQ",4194304,8);exit(syscall($ARGV[0],1,$l,1,$r,1,0)==8?0:1)',
      'process_vm_writev',
    ),
  },
  {
    name: 'advise on memory of PID 1',
    attempt: perl(
      '$f=syscall($ARGV[0],1,0);exit 1 if $f<0;$v=pack("QQ",4194304,4096);exit(syscall($ARGV[1],$f,$v,1,20,0)>=0?0:1)',
      'pidfd_open',
      'process_madvise',
    ),
  },
  {
    name: 'locks of PID 1',
    attempt: perl('$a="x"x8;$b="x"x8;exit(syscall($ARGV[0],1,$a,$b)==0?0:1)', 'get_robust_list'),
  },
  { name: 'compare with PID 1', attempt: 'sys kcmp 1 1 0 0 0' },
  {
    name: 'move the pages of PID 1',
    attempt: perl('$m=pack("Q",1);exit(syscall($ARGV[0],1,8,$m,$m)>=0?0:1)', 'migrate_pages'),
  },
  {
    name: 'say over a socket to be root',
    attempt: perl(
      'use Socket;socketpair(A,B,AF_UNIX,SOCK_DGRAM,0);setsockopt(B,SOL_SOCKET,16,pack("i",1));$d="x";$v=pack("QQ",unpack("Q",pack("p",$d)),1);$c=pack("QiiiIIx4",28,1,2,$$,0,0);$m=pack("QIx4QQQQix4",0,0,unpack("Q",pack("p",$v)),1,unpack("Q",pack("p",$c)),32,0);exit(syscall($ARGV[0],fileno(A),$m,0)==1?0:1)',
      'sendmsg',
    ),
  },

  { name: 'replace the socket of the relay', attempt: 'rm -f /run/svc/relay.sock && test ! -e /run/svc/relay.sock' },
  { name: 'move the socket of the relay away', attempt: 'mv /run/svc/relay.sock /tmp/relay.sock' },
  { name: 'a way out of our own', attempt: 'ln -s /tmp/x /run/svc/egress.sock || touch /run/svc/egress.sock.new' },
  { name: 'open the socket of the daemon to all', attempt: 'chmod 777 /run/svc/daemon.sock || chmod 777 /run/svc' },
  { name: 'the way out of another sandbox', attempt: 'ls "$STATE_FOLDER"/../egress || ls "$OTHER_FOLDER"/egress.sock' },
  { name: 'the socket of another daemon', attempt: 'test -S "$OTHER_FOLDER/daemon.sock"' },
  ...['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost'].flatMap((host) => [
    proxied('through the relay', relay, `CONNECT ${host}:$CANARY_PORT`),
    proxied('through the way out', egress, `CONNECT ${host}:$CANARY_PORT`),
    proxied('through the way out', egress, `GET http://${host}:$CANARY_PORT/`),
  ]),
  ...[
    '169.254.169.254:80',
    '100.100.100.200:80',
    '[fd00:ec2::254]:80',
    '10.0.0.1:443',
    '0.0.0.0:443',
    '2130706433:443',
  ].map((at) => proxied('through the way out', egress, `CONNECT ${at}`)),
  proxied('through the relay', relay, 'GET http://169.254.169.254/latest/meta-data/'),
  { name: 'a route of our own', attempt: 'ip route add default dev lo || ip route add 10.0.0.0/8 dev lo' },
  {
    name: 'mark packets',
    attempt: `perl -MSocket -e 'socket(S,AF_INET,SOCK_DGRAM,0);exit(setsockopt(S,1,36,pack("i",7))?0:1)'`,
  },
  {
    name: 'speak from any address',
    attempt: `perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,0);exit(setsockopt(S,0,19,pack("i",1))?0:1)'`,
  },
]
