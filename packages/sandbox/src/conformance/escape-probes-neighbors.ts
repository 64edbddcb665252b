/** Attempts against neighbors: the daemon by less known ways, the relays, other sandboxes. */
import { perl } from './perl.ts'

/** Nothing leaves this machine: a success shows before anything is sent on. */
const proxied = (way: string, port: number, lines: string[]) =>
  Object.fromEntries(lines.map((line) => [`${way}: ${line}`, `via ${port} "${line}"`]))
const canaries = ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost'].map((host) => `${host}:$CANARY_PORT`)
const closed = ['169.254.169.254:80', '100.100.100.200:80', '[fd00:ec2::254]:80', '10.0.0.1:443', '0.0.0.0:443']

export const neighborProbes: Record<string, string> = {
  'auxiliary vector of PID 1': 'head -c1 /proc/1/auxv | grep -q .',
  'stack and state of PID 1': 'cat /proc/1/stack || cat /proc/1/syscall || cat /proc/1/personality',
  'what PID 1 reads and writes': 'cat /proc/1/io',
  'pages of PID 1': 'head -c8 /proc/1/pagemap | grep -q .',
  'namespaces of PID 1': 'readlink /proc/1/ns/net',
  'environment of the threads of PID 1': 'cat /proc/1/task/1/environ',
  'the program file of PID 1': 'readlink /proc/1/exe',
  'what of PID 1 is dumped': 'echo 0xff > /proc/1/coredump_filter',
  'forget the pages of PID 1': 'echo 1 > /proc/1/clear_refs',
  'a signal of nothing to PID 1': 'kill -0 1',
  'a signal to a thread of PID 1': 'sys tgkill 1 1 15',
  'a queued signal to PID 1': perl(
    '$i=pack("iii",15,0,-1).("\\0"x116);exit(syscall($ARGV[0],1,15,$i)==0?0:1)',
    'rt_sigqueueinfo',
  ),
  'limits of PID 1': 'prlimit --pid 1 --nofile=1:1',
  'processors of PID 1': perl('$m=pack("Q",1);exit(syscall($ARGV[0],1,8,$m)==0?0:1)', 'sched_setaffinity'),
  'write memory of PID 1': perl(
    '$b="x"x8;$l=pack("QQ",unpack("Q",pack("p",$b)),8);$r=pack("QQ",4194304,8);exit(syscall($ARGV[0],1,$l,1,$r,1,0)==8?0:1)',
    'process_vm_writev',
  ),
  'advise on memory of PID 1': perl(
    '$f=syscall($ARGV[0],1,0);exit 1 if $f<0;$v=pack("QQ",4194304,4096);exit(syscall($ARGV[1],$f,$v,1,20,0)>=0?0:1)',
    'pidfd_open',
    'process_madvise',
  ),
  'locks of PID 1': perl('$a="x"x8;$b="x"x8;exit(syscall($ARGV[0],1,$a,$b)==0?0:1)', 'get_robust_list'),
  'compare with PID 1': 'sys kcmp 1 1 0 0 0',
  'move the pages of PID 1': perl('$m=pack("Q",1);exit(syscall($ARGV[0],1,8,$m,$m)>=0?0:1)', 'migrate_pages'),
  'say over a socket to be root': perl(
    'use Socket;socketpair(A,B,AF_UNIX,SOCK_DGRAM,0);setsockopt(B,SOL_SOCKET,16,pack("i",1));$d="x";$v=pack("QQ",unpack("Q",pack("p",$d)),1);$c=pack("QiiiIIx4",28,1,2,$$,0,0);$m=pack("QIx4QQQQix4",0,0,unpack("Q",pack("p",$v)),1,unpack("Q",pack("p",$c)),32,0);exit(syscall($ARGV[0],fileno(A),$m,0)==1?0:1)',
    'sendmsg',
  ),

  'replace the socket of the relay': 'rm -f /run/svc/relay/relay.sock && test ! -e /run/svc/relay/relay.sock',
  'move the socket of the relay away':
    'mv /run/svc/relay/relay.sock /tmp/relay.sock || mv /run/svc/relay /run/svc/away',
  'a way out of our own': 'ln -s /tmp/x /run/svc/egress || touch /run/svc/relay/new || touch /run/svc/egress/new',
  'open the socket of the daemon to all': 'chmod 777 /run/svc/daemon.sock || chmod 777 /run/svc',
  'the way out of another sandbox': 'ls "$STATE_FOLDER"/../egress || ls "$OTHER_FOLDER"/egress.sock',
  'the socket of another daemon': 'test -S "$OTHER_FOLDER/daemon.sock"',
  ...proxied('through the relay', 61080, [
    ...canaries.map((at) => `CONNECT ${at}`),
    'GET http://169.254.169.254/latest/meta-data/',
  ]),
  ...proxied('through the way out', 61081, [
    ...[...canaries, ...closed, '2130706433:443'].map((at) => `CONNECT ${at}`),
    ...canaries.map((at) => `GET http://${at}/`),
  ]),
  'a route of our own': 'ip route add default dev lo || ip route add 10.0.0.0/8 dev lo',
  'mark packets': `perl -MSocket -e 'socket(S,AF_INET,SOCK_DGRAM,0);exit(setsockopt(S,1,36,pack("i",7))?0:1)'`,
  'speak from any address': `perl -MSocket -e 'socket(S,AF_INET,SOCK_STREAM,0);exit(setsockopt(S,0,19,pack("i",1))?0:1)'`,
}
