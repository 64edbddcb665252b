/** Hides the daemon's process where daemon and agent share one uid. */
import { dlopen, FFIType } from 'bun:ffi'

const PR_SET_DUMPABLE = 4

/**
 * Closes /proc/<pid>/environ, /proc/<pid>/mem, and ptrace to other processes of the same uid. Signals stay possible.
 */
export function forbidInspection(): void {
  const u64 = FFIType.u64
  const { prctl } = dlopen('libc.so.6', {
    prctl: { args: [FFIType.i32, u64, u64, u64, u64], returns: FFIType.i32 },
  }).symbols
  if (prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n) !== 0) throw new Error('The daemon could not hide itself from the agent.')
}
