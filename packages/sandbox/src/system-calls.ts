/** Numbers of the system calls that the escape probes make without any library's help. */
type Numbers = Record<string, [x64: number, arm64: number]>

/** 9999 is no system call: what x86 alone has fails elsewhere by itself. */
const numbers: Numbers = {
  ...{ getpid: [39, 172], unshare: [272, 97], setns: [308, 268], clone: [56, 220], clone3: [435, 435] },
  ...{ mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41], chroot: [161, 51], fsopen: [430, 430] },
  ...{ fsmount: [432, 432], fspick: [433, 433], open_tree: [428, 428], move_mount: [429, 429] },
  ...{ mount_setattr: [442, 442], open_by_handle_at: [304, 265], name_to_handle_at: [303, 264] },
  ...{ keyctl: [250, 219], add_key: [248, 217], request_key: [249, 218], bpf: [321, 280], fanotify_init: [300, 262] },
  ...{ perf_event_open: [298, 241], userfaultfd: [323, 282], init_module: [175, 105], finit_module: [313, 273] },
  ...{ delete_module: [176, 106], kexec_load: [246, 104], kexec_file_load: [320, 294], reboot: [169, 142] },
  ...{ swapon: [167, 224], swapoff: [168, 225], settimeofday: [164, 170], clock_settime: [227, 112] },
  ...{ clock_adjtime: [305, 266], sethostname: [170, 161], setdomainname: [171, 162], io_uring_setup: [425, 425] },
  ...{ io_uring_enter: [426, 426], io_uring_register: [427, 427], ptrace: [101, 117], process_vm_readv: [310, 270] },
  ...{ process_vm_writev: [311, 271], process_madvise: [440, 440], pidfd_open: [434, 434], kcmp: [312, 272] },
  ...{ pidfd_send_signal: [424, 424], pidfd_getfd: [438, 438], get_robust_list: [274, 100], syslog: [103, 116] },
  ...{ acct: [163, 89], quotactl: [179, 60], setuid: [105, 146], setgid: [106, 144], setgroups: [116, 159] },
  ...{ setresuid: [117, 147], capset: [126, 91], prctl: [157, 167], setxattr: [188, 5], personality: [135, 92] },
  ...{ setpriority: [141, 140], sched_setscheduler: [144, 119], sched_setaffinity: [203, 122], ioprio_set: [251, 30] },
  ...{ sched_setattr: [314, 274], migrate_pages: [256, 238], kill: [62, 129], tgkill: [234, 131] },
  ...{ rt_sigqueueinfo: [129, 138], socket: [41, 198], sendmsg: [46, 211], ioctl: [16, 29], mknodat: [259, 33] },
  ...{ vhangup: [153, 58], iopl: [172, 9999], ioperm: [173, 9999], modify_ldt: [154, 9999] },
}

export function systemCallNumbers(architecture: string): Record<string, number> {
  const column = architecture === 'arm64' ? 1 : 0
  return Object.fromEntries(Object.entries(numbers).map(([name, columns]) => [name, columns[column]]))
}
