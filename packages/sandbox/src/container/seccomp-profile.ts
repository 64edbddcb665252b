/** The blocked calls as an engine's profile, which the engine compiles to a filter with libseccomp. */
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

/** One rule per bit: a masked comparison tests for all bits, but any one of them must be blocked. */
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
    // Only the machine's own architecture: calls of others (32 bits, x32) kill the program.
    architectures: [process.arch === 'arm64' ? 'SCMP_ARCH_AARCH64' : 'SCMP_ARCH_X86_64'],
    syscalls: [
      fail(Object.keys(refused), errno.EPERM),
      fail(Object.keys(unknown), errno.ENOSYS),
      ...anyBit('clone', newNamespaces),
      ...anyBit('unshare', newNamespaces | newTime),
      ...terminalInjections.map((value) => fail(['ioctl'], errno.EPERM, [{ index: 1, value, op: 'SCMP_CMP_EQ' }])),
      ...others.map((value) => fail(['socket'], errno.EAFNOSUPPORT, [{ index: 0, value, op: 'SCMP_CMP_EQ' }])),
      fail(['socket'], errno.EAFNOSUPPORT, [{ index: 0, value: familiesMax, op: 'SCMP_CMP_GT' }]),
      // Only netlink protocol 0 (routing), which programs use to list interfaces.
      fail(['socket'], errno.EAFNOSUPPORT, [
        { index: 0, value: families.netlink, op: 'SCMP_CMP_EQ' },
        { index: 2, value: 0, op: 'SCMP_CMP_NE' },
      ]),
    ],
  })
}
