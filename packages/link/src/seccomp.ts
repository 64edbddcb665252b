/**
 * Puts a filter of system calls on this process and every one that it starts. A process without privileges may do that
 * to itself, so a sandbox has the filter of the service also where the cluster offers only its own.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const PR_SET_NO_NEW_PRIVS = 38
const SECCOMP_SET_MODE_FILTER = 1
/** On all threads. */
const SECCOMP_FILTER_FLAG_TSYNC = 1
const instructionBytes = 8
const callNumber: Record<string, number> = { x64: 317, arm64: 277 }

export function filterSystemCalls(program: Buffer): void {
  const u64 = FFIType.u64
  const { prctl, syscall } = dlopen('libc.so.6', {
    prctl: { args: [FFIType.i32, u64, u64, u64, u64], returns: FFIType.i32 },
    syscall: { args: [u64, u64, u64, FFIType.ptr], returns: FFIType.i64 },
  }).symbols
  // struct sock_fprog: the number of instructions and, aligned, their address.
  const description = Buffer.alloc(16)
  description.writeUInt16LE(program.length / instructionBytes, 0)
  description.writeBigUInt64LE(BigInt(ptr(program)), 8)
  const number = callNumber[process.arch]
  if (number === undefined) throw new Error(`There is no filter of system calls for ${process.arch}.`)
  if (prctl(PR_SET_NO_NEW_PRIVS, 1n, 0n, 0n, 0n) !== 0) throw new Error('New privileges could not be turned off.')
  const result = syscall(
    BigInt(number),
    BigInt(SECCOMP_SET_MODE_FILTER),
    BigInt(SECCOMP_FILTER_FLAG_TSYNC),
    ptr(description),
  )
  if (Number(result) !== 0) throw new Error('The kernel did not take the filter of system calls.')
}
