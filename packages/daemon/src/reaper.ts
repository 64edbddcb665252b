/**
 * Whatever loses its parent in a sandbox becomes a child of PID 1, and stays a zombie until PID 1 waits for it. Bun
 * waits only for what it started itself. bubblewrap can be PID 1 and reap, but the specification names svc-entrypoint;
 * ignoring SIGCHLD makes the kernel reap, but then the daemon's exit code is lost. So we ask the kernel who is dead
 * without taking anything (WNOWAIT), and wait for those that are not ours.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const P_ALL = 0
const WNOHANG = 1
const WEXITED = 4
const WNOWAIT = 0x01000000
// siginfo_t of 64-bit Linux: three ints, padding, then the pid.
const pidIndex = 4
const intsInSiginfo = 32

const everyMs = 1000

/** `own` is Bun's to wait for. Answers the function that stops it. */
export function startReaper(own: number): () => void {
  const wait = openWait()
  if (wait === null) return () => {}
  const info = new Int32Array(intsInSiginfo)
  const reap = () => {
    for (;;) {
      info[pidIndex] = 0
      if (wait.waitid(P_ALL, 0, ptr(info), WEXITED | WNOHANG | WNOWAIT) !== 0) return
      const pid = info[pidIndex]
      // The kernel shows the same one until it is taken: ours hides the others for the moment Bun needs to take it.
      if (pid === undefined || pid === 0 || pid === own) return
      wait.waitpid(pid, null, WNOHANG)
    }
  }
  process.on('SIGCHLD', reap)
  // Signals of one kind merge, so one may stand for many; the timer takes what fell between.
  const timer = setInterval(reap, everyMs)
  return () => {
    clearInterval(timer)
    process.off('SIGCHLD', reap)
  }
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
      // Another C library goes by another name.
    }
  }
  process.stderr.write('svc-entrypoint: no C library found, the dead will stay listed\n')
  return null
}
