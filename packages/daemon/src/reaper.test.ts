import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './testing.ts'

const orphans = 50

/**
 * Adopts orphans as PID 1 of a sandbox does. Its own child starts them and stays, as the daemon would. It prints a line
 * when the reaper runs, and ends with the exit code of that child.
 */
const adopter = `
  const { dlopen, FFIType } = await import('bun:ffi')
  const { startReaper } = await import(${JSON.stringify(join(import.meta.dir, 'reaper.ts'))})
  const PR_SET_CHILD_SUBREAPER = 36
  const { symbols } = dlopen('libc.so.6', { prctl: { args: [FFIType.i32, FFIType.u64], returns: FFIType.i32 } })
  if (symbols.prctl(PR_SET_CHILD_SUBREAPER, 1n) !== 0) throw new Error('prctl failed')
  const daemon = Bun.spawn(['sh', '-c', 'for i in $(seq ${orphans}); do (sleep 600 &); done; exec sleep 601'])
  startReaper(daemon.pid)
  console.log('ready')
  process.exitCode = await daemon.exited`

const childrenOf = (parent: number) =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const [state = '', of] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(of) === parent ? [{ pid: Number(name), state }] : []
    } catch {
      // It ended meanwhile.
      return []
    }
  })

test('reaps orphans that end together behind one merged signal, and keeps the exit code of the daemon', async () => {
  const reaper = Bun.spawn([process.execPath, '--eval', adopter], { stdout: 'pipe', stderr: 'inherit' })
  try {
    await reaper.stdout.getReader().read()
    const sleeping = await until('the orphans', () => {
      const found = childrenOf(reaper.pid)
      return found.length === orphans + 1 && found
    })
    const daemon = Math.min(...sleeping.map(({ pid }) => pid))
    // While it is stopped, the kernel keeps one SIGCHLD of all of them.
    reaper.kill('SIGSTOP')
    for (const { pid } of sleeping) if (pid !== daemon) process.kill(pid, 'SIGKILL')
    await until('all to wait for the reaper', () => {
      const zombies = childrenOf(reaper.pid).filter(({ state }) => state === 'Z')
      return zombies.length === orphans
    })
    reaper.kill('SIGCONT')
    await until('all to be reaped', () => childrenOf(reaper.pid).length === 1)
    process.kill(daemon, 'SIGTERM')
    expect(await reaper.exited).toBe(128 + 15)
  } finally {
    for (const { pid } of childrenOf(reaper.pid)) process.kill(pid, 'SIGKILL')
    reaper.kill('SIGKILL')
    await reaper.exited
  }
})
