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

/**
 * Runs a program in the foreground until it ends, and answers its exit code. Ctrl-C reaches every process of the terminal,
 * and npm hands it on once more: so the child has a group of its own and gets the first signal from here, once.
 */
export function runInForeground(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    // Should this script be killed with no chance to say so, the kernel tells the program to end.
    const guard = process.platform === 'linux' ? findProgram('setpriv') : null
    const [first, ...rest] = guard === null ? [program, ...args] : [guard, '--pdeathsig', 'TERM', program, ...args]
    const child = spawn(first, rest, { cwd: root, stdio: 'inherit', detached: true, ...options })
    let asked = false
    const ask = (signal) => {
      if (asked) return
      asked = true
      child.kill(signal)
    }
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => ask(signal))
    process.on('SIGHUP', () => ask('SIGTERM'))
    const watch = watchNpm(() => ask('SIGTERM'))
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearInterval(watch)
      resolve(code ?? 128 + (constants.signals[signal] ?? 0))
    })
  })
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
