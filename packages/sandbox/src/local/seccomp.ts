/** The blocked calls as a classic BPF program for `bwrap --seccomp`. */
import { errno, families, newNamespaces, newTime, refused, terminalInjections, unknown } from '../refused-calls.ts'

const architectures = {
  x64: { audit: 0xc000003e, column: 0 },
  arm64: { audit: 0xc00000b7, column: 1 },
} as const
type Architecture = keyof typeof architectures

const load = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index }

interface Instruction {
  code: number
  k: number
  /** Instructions to skip when the test is true, and when it is false. */
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
  if (target === undefined) throw new Error(`There is no system call filter for ${architecture}.`)
  const column = target.column
  const number = { clone: [56, 220], unshare: [272, 97], ioctl: [16, 29], socket: [41, 198] }

  /** `body` runs only for that system call; it starts with the number in the accumulator and ends with a return. */
  const onCall = (call: number, body: Instruction[]): Instruction[] => [skipUnlessEqual(call, body.length), ...body]

  const program: Instruction[] = [
    ld(load.architecture),
    // 32-bit calls on a 64-bit kernel have other numbers, so no rule below would match.
    { code: 0x15, k: target.audit, jt: 1, jf: 0 },
    kill,
    ld(load.number),
    // The x32 numbers, which duplicate every call.
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
      // Only netlink protocol 0 (routing), which programs use to list interfaces.
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
