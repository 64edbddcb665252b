/**
 * Reaps orphaned processes. They become children of PID 1, and Bun waits only for children it started. bubblewrap
 * could reap as PID 1, but the specification names svc-entrypoint. Ignoring SIGCHLD would make the kernel reap, but
 * lose the daemon's exit code. So this asks the kernel for dead children without reaping them (WNOWAIT), and waits
 * for those that Bun did not start.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const P_ALL = 0
const WNOHANG = 1
const WEXITED = 4
const WNOWAIT = 0x01000000
// siginfo_t of 64-bit Linux: three ints, padding, then the pid.
const pidIndex = 4
const intsInSiginfo = 32

/** Bun waits for `own`. Returns a function that stops the reaper. */
export function startReaper(own: number): () => void {
  const wait = openWait()
  if (wait === null) return () => {}
  const info = new Int32Array(intsInSiginfo)
  const reap = () => {
    for (;;) {
      info[pidIndex] = 0
      if (wait.waitid(P_ALL, 0, ptr(info), WEXITED | WNOHANG | WNOWAIT) !== 0) return
      const pid = info[pidIndex]
      // The kernel reports the same child until it is reaped, so ours hides the others until Bun reaps it.
      if (pid === undefined || pid === 0 || pid === own) return
      wait.waitpid(pid, null, WNOHANG)
    }
  }
  // The kernel merges signals that are pending together. None is lost by that: the handler runs after its signal was
  // taken, so a child that ends later sends another one, and the loop finds every child that ended before.
  process.on('SIGCHLD', reap)
  // A child may have ended before the handler was there.
  reap()
  return () => void process.off('SIGCHLD', reap)
}

function openWait() {
  const functions = {
    waitid: { args: [FFIType.i32, FFIType.u32, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
    waitpid: { args: [FFIType.i32, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
  } as const
  for (const library of ['libc.so.6', 'libc.so']) {
    try {
      return dlopen(library, functions).symbols
    } catch {
      hasAnotherName()
    }
  }
  process.stderr.write('svc-entrypoint: no C library found; orphaned processes remain as zombies\n')
  return null
}

/** Other C libraries have other names. */
function hasAnotherName(): void {}
