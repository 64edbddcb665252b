// What the scripts share about the terminal: progress lines, and one child in the foreground.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** A step a person has to wait for: what it is, and when it is done how long it took. */
export async function step(what, work) {
  const began = Date.now()
  process.stderr.write(`${what} …`)
  try {
    const result = await work()
    process.stderr.write(` ${((Date.now() - began) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    process.stderr.write(' failed\n')
    throw error
  }
}

/** Runs a program to its end; rejects with the last of what it said when it fails. */
export function runQuietly(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', (text) => (output = (output + text).slice(-20_000)))
    }
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${program} ended with ${signal ?? `exit code ${code}`}\n${output.trim()}`))
    })
  })
}

/** Runs a program in the foreground until it ends, and answers its exit code. The first signal is handed on, once. */
export async function runInForeground(program, args) {
  const child = startProgram(program, args)
  const forget = onStop((signal) => child.stop(signal))
  try {
    return await child.ended
  } finally {
    forget()
  }
}

/**
 * Starts a program on our own terminal. Ctrl-C reaches every process of a terminal, and npm hands it on once more: so the
 * program has a group of its own, and hears of it from here.
 */
export function startProgram(program, args) {
  // Should this script be killed with no chance to say so, the kernel tells the program to end.
  const guard = process.platform === 'linux' ? findProgram('setpriv') : null
  const [first, ...rest] = guard === null ? [program, ...args] : [guard, '--pdeathsig', 'TERM', program, ...args]
  const child = spawn(first, rest, { cwd: root, stdio: 'inherit', detached: true })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)))
  })
  return { ended, stop: (signal) => child.kill(signal) }
}

/** Calls once with the first signal that asks this script to stop; answers how to stop listening. */
export function onStop(stop) {
  let asked = false
  const ask = (signal) => {
    if (!asked) stop(signal === 'SIGHUP' ? 'SIGTERM' : signal)
    asked = true
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, ask)
  const watch = watchNpm(() => ask('SIGTERM'))
  return () => {
    clearInterval(watch)
    for (const signal of signals) process.removeListener(signal, ask)
  }
}

/** Started by npm, it ends with npm: a killed npm passes no signal on. */
function watchNpm(gone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined
  const parent = process.ppid
  return setInterval(() => process.ppid !== parent && gone(), 500)
}

/** Where a program lies on PATH, or null. */
export function findProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null
}

/** The errors of a script are sentences for a person; a stack would hide them. */
export async function main(work) {
  try {
    process.exitCode = (await work()) ?? 0
  } catch (error) {
    console.error(error.message)
    process.exitCode = 1
  }
}

export function isMain(url) {
  return process.argv[1] === fileURLToPath(url)
}
