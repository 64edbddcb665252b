// Terminal helpers of the scripts: progress lines, and one child process in the foreground.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Prints a step that takes a while, then how long it took. */
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

/** Runs a program to its end. Rejects with the last lines of its output when it fails. */
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

/** Runs a program in the foreground and returns its exit code. Forwards the first signal once. */
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
 * Starts a program on this terminal. Ctrl-C reaches every process of a terminal and npm forwards it again, so the program runs
 * in its own process group and gets signals from here only.
 */
export function startProgram(program, args) {
  // If this script is killed without a chance to react, the kernel ends the program.
  const guard = process.platform === 'linux' ? findProgram('setpriv') : null
  const [first, ...rest] = guard === null ? [program, ...args] : [guard, '--pdeathsig', 'TERM', program, ...args]
  const child = spawn(first, rest, { cwd: root, stdio: 'inherit', detached: true })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)))
  })
  return { ended, stop: (signal) => child.kill(signal) }
}

/** Calls back once on the first signal that asks this script to stop. Returns a function that stops listening. */
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

/** A killed npm forwards no signal, so watch for its end. */
function watchNpm(gone) {
  if (process.env.npm_lifecycle_event === undefined) return undefined
  const parent = process.ppid
  return setInterval(() => process.ppid !== parent && gone(), 500)
}

/** Makes something in a new folder of `home`, which is gone afterwards: `work` moves what is complete out of it. */
export async function aside(home, work) {
  mkdirSync(home, { recursive: true })
  const folder = mkdtempSync(join(home, '.new-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'))
}

/** Finds a program on PATH, or returns null. */
export function findProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null
}

/** Script errors are sentences for a person; a stack would bury them. */
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
