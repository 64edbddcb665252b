/**
 * System calls that every driver blocks. This is a deny list: user namespaces and missing capabilities already block
 * most of these. It removes the kernel code where unprivileged users find bugs (namespaces, io_uring, bpf, keys,
 * unusual socket families) and two holes that no namespace closes: AF_VSOCK reaches the hypervisor from any network
 * namespace, and TIOCSTI types into the terminal that started the server.
 */

export const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const

/** Numbers on x86-64 and arm64; null where the call does not exist. */
export const refused: Record<string, [number | null, number | null]> = {
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  setns: [308, 268],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  open_tree: [428, 428],
  move_mount: [429, 429],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  sysfs: [139, null],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  syslog: [103, 116],
  vhangup: [153, 58],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  kcmp: [312, 272],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
}

/** Programs have a fallback when the kernel does not know these calls; EPERM would make them fail. */
export const unknown: Record<string, [number, number]> = {
  // A filter cannot read its flags, which are in memory. glibc falls back to clone, whose flags are in a register.
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
}

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
export const newNamespaces = 0x7e020000
// Only for unshare: in clone these bits are the exit signal.
export const newTime = 0x80
export const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const
export const terminalInjections = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */]
