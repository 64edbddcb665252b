/** The refused calls as a profile of the container engines, which turn it into a filter with libseccomp. */
import { errno, families, newNamespaces, newTime, refused, terminalInjections, unknown } from '../refused-calls.ts'

interface Condition {
  index: number
  value: number
  valueTwo?: number
  op: 'SCMP_CMP_EQ' | 'SCMP_CMP_NE' | 'SCMP_CMP_GT' | 'SCMP_CMP_MASKED_EQ'
}

const fail = (names: string[], errnoRet: number, args: Condition[] = []) => ({
  names,
  action: 'SCMP_ACT_ERRNO',
  errnoRet,
  args,
})

/** One rule a bit: a masked comparison knows "all of these", and any one of them is too many. */
const anyBit = (name: string, bits: number) =>
  Array.from({ length: 32 }, (_, bit) => 2 ** bit)
    .filter((bit) => (bits & bit) !== 0)
    .map((bit) => fail([name], errno.EPERM, [{ index: 0, value: bit, valueTwo: bit, op: 'SCMP_CMP_MASKED_EQ' }]))

const familiesMax = 45

export function seccompProfile(): string {
  const permitted: number[] = Object.values(families)
  const others = Array.from({ length: familiesMax + 1 }, (_, family) => family).filter(
    (one) => !permitted.includes(one),
  )
  return JSON.stringify({
    defaultAction: 'SCMP_ACT_ALLOW',
    // The machine's own alone: calls of another one (32 bits, x32) end the program.
    architectures: [process.arch === 'arm64' ? 'SCMP_ARCH_AARCH64' : 'SCMP_ARCH_X86_64'],
    syscalls: [
      fail(Object.keys(refused), errno.EPERM),
      fail(Object.keys(unknown), errno.ENOSYS),
      ...anyBit('clone', newNamespaces),
      ...anyBit('unshare', newNamespaces | newTime),
      ...terminalInjections.map((value) => fail(['ioctl'], errno.EPERM, [{ index: 1, value, op: 'SCMP_CMP_EQ' }])),
      ...others.map((value) => fail(['socket'], errno.EAFNOSUPPORT, [{ index: 0, value, op: 'SCMP_CMP_EQ' }])),
      fail(['socket'], errno.EAFNOSUPPORT, [{ index: 0, value: familiesMax, op: 'SCMP_CMP_GT' }]),
      // Of netlink only protocol 0, routing: programs list the interfaces with it.
      fail(['socket'], errno.EAFNOSUPPORT, [
        { index: 0, value: families.netlink, op: 'SCMP_CMP_EQ' },
        { index: 2, value: 0, op: 'SCMP_CMP_NE' },
      ]),
    ],
  })
}
