/**
 * The system call filter, as a classic BPF program for `bwrap --seccomp`.
 *
 * A deny list: user namespaces and missing capabilities already refuse most of what is here. The filter takes away the
 * kernel code where bugs are found by people without rights (namespaces, io_uring, bpf, keys, odd socket families) and
 * the two holes that no namespace closes: AF_VSOCK reaches the hypervisor from any network namespace, and TIOCSTI
 * types into the terminal that started us.
 */

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const

const architectures = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const
type Architecture = keyof typeof architectures

/** Numbers on x86-64 and on arm64; null where the call does not exist. */
const refused: Record<string, [number | null, number | null]> = {
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

/** Programs ask for these and have a second way when the kernel does not know them; EPERM would end them. */
const unknown: Record<string, [number, number]> = {
  // Its flags lie in memory, where a filter cannot read them. glibc goes on to clone, whose flags are a register.
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
}

// CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
const newNamespaces = 0x7e020000
// For unshare alone: in clone these bits are the exit signal.
const newTime = 0x80
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const
const terminalInjections = [0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */]

const load = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index }

interface Instruction {
  code: number
  k: number
  /** Instructions to skip when the test holds, and when it does not. */
  jt?: number
  jf?: number
}

const ld = (offset: number): Instruction => ({ code: 0x20, k: offset })
const ret = (action: number): Instruction => ({ code: 0x06, k: action })
const skipUnlessEqual = (k: number, skip: number): Instruction => ({ code: 0x15, k, jt: 0, jf: skip })
const skipUnlessAnyBit = (k: number, skip: number): Instruction => ({ code: 0x45, k, jt: 0, jf: skip })

const allow = ret(0x7fff0000)
const kill = ret(0x80000000)
const fail = (number: number) => ret(0x00050000 | number)

export function seccompFilter(architecture: Architecture = process.arch as Architecture): Uint8Array<ArrayBuffer> {
  const target = architectures[architecture]
  if (target === undefined) throw new Error(`No system call filter is known for ${architecture}.`)
  const column = target.column
  const number = { clone: [56, 220], unshare: [272, 97], ioctl: [16, 29], socket: [41, 198] }

  /** `body` runs only for that system call; it starts with the number in the accumulator and ends in a return. */
  const onCall = (call: number, body: Instruction[]): Instruction[] => [skipUnlessEqual(call, body.length), ...body]

  const program: Instruction[] = [
    ld(load.architecture),
    // A 32-bit call on a 64-bit kernel has other numbers: nothing below would hold for it.
    { code: 0x15, k: target.audit, jt: 1, jf: 0 },
    kill,
    ld(load.number),
    // The x32 numbers, where every call exists a second time.
    ...(architecture === 'x64' ? [{ code: 0x35, k: 0x40000000, jt: 0, jf: 1 }, fail(errno.ENOSYS)] : []),
    ...Object.values(refused).flatMap((numbers) => {
      const call = numbers[column]
      return call === null ? [] : onCall(call, [fail(errno.EPERM)])
    }),
    ...Object.values(unknown).flatMap((numbers) => onCall(numbers[column], [fail(errno.ENOSYS)])),
    ...onCall(number.clone[column]!, [
      ld(load.argument(0)),
      skipUnlessAnyBit(newNamespaces, 1),
      fail(errno.EPERM),
      allow,
    ]),
    ...onCall(number.unshare[column]!, [
      ld(load.argument(0)),
      skipUnlessAnyBit(newNamespaces | newTime, 1),
      fail(errno.EPERM),
      allow,
    ]),
    ...onCall(number.ioctl[column]!, [
      ld(load.argument(1)),
      ...terminalInjections.flatMap((request) => [skipUnlessEqual(request, 1), fail(errno.EPERM)]),
      allow,
    ]),
    ...onCall(number.socket[column]!, [
      ld(load.argument(0)),
      ...[families.unix, families.inet, families.inet6].flatMap((family) => [skipUnlessEqual(family, 1), allow]),
      // Of netlink only protocol 0, routing: programs list the interfaces with it.
      skipUnlessEqual(families.netlink, 3),
      ld(load.argument(2)),
      skipUnlessEqual(0, 1),
      allow,
      fail(errno.EAFNOSUPPORT),
    ]),
    allow,
  ]
  return assemble(program)
}

function assemble(program: Instruction[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  program.forEach((instruction, index) => {
    view.setUint16(index * 8, instruction.code, true)
    view.setUint8(index * 8 + 2, instruction.jt ?? 0)
    view.setUint8(index * 8 + 3, instruction.jf ?? 0)
    view.setUint32(index * 8 + 4, instruction.k, true)
  })
  return bytes
}
