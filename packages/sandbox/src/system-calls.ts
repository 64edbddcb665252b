import { refused, unknown } from './refused-calls.ts'

/** System call numbers on x86-64 and arm64 for the escape probes, which call the kernel directly. */
const numbers: Record<string, [x64: number | null, arm64: number | null]> = {
  ...refused,
  ...unknown,
  getpid: [39, 172],
  unshare: [272, 97],
  clone: [56, 220],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  pidfd_getfd: [438, 438],
  get_robust_list: [274, 100],
  setuid: [105, 146],
  setgid: [106, 144],
  setgroups: [116, 159],
  setresuid: [117, 147],
  capset: [126, 91],
  prctl: [157, 167],
  setxattr: [188, 5],
  personality: [135, 92],
  setpriority: [141, 140],
  sched_setscheduler: [144, 119],
  sched_setaffinity: [203, 122],
  ioprio_set: [251, 30],
  sched_setattr: [314, 274],
  kill: [62, 129],
  tgkill: [234, 131],
  rt_sigqueueinfo: [129, 138],
  socket: [41, 198],
  sendmsg: [46, 211],
  ioctl: [16, 29],
  mknodat: [259, 33],
}

/** Not a system call: a call that only x86 has fails elsewhere. */
const noCall = 9999

export function systemCallNumbers(architecture: string): Record<string, number> {
  const column = architecture === 'arm64' ? 1 : 0
  return Object.fromEntries(Object.entries(numbers).map(([name, columns]) => [name, columns[column] ?? noCall]))
}
