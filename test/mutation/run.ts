/**
 * `npm run mutate -- FOLDER [--tests FOLDER…] [--sample 60] [--seed 1] [--build]` changes one place of the sources at a time and
 * runs the tests: a change that no test notices survives. Works in a copy of the checkout, and prints the survivors and the score.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isTest } from '../architecture.ts'
import { handWritten, readSource, root } from '../sources.ts'
import { type Mutant, mutantsOf } from './mutants.ts'

/** A mutant that hangs is noticed. */
const runMsMax = 240_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', multiple: true },
    sample: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    build: { type: 'boolean', default: false },
  },
})
const [folder] = positionals
if (folder === undefined) throw new Error('Name the folder to mutate: npm run mutate -- packages/cli/src')
const tests = values.tests ?? [folder]
const all = handWritten(folder)
  .filter((path) => !isTest(path))
  .flatMap((path) => mutantsOf(readSource(path)))
const sample = shuffled(all, Number(values.seed)).slice(0, Number(values.sample))
const copy = copyCheckout()
try {
  if (!passes()) throw new Error('The tests fail without any change, so nothing can be measured.')
  const survivors: Mutant[] = []
  for (const [index, mutant] of sample.entries()) {
    const original = readSource(mutant.path).text
    writeFileSync(join(copy, mutant.path), mutant.text)
    const survived = passes()
    writeFileSync(join(copy, mutant.path), original)
    if (survived) survivors.push(mutant)
    console.log(
      `${index + 1}/${sample.length} ${survived ? 'SURVIVED' : 'noticed'} ${mutant.path}:${mutant.line} ${mutant.change}`,
    )
  }
  const score = (100 * (sample.length - survivors.length)) / Math.max(1, sample.length)
  console.log(
    `\n${all.length} possible changes, ${sample.length} tried, ${survivors.length} survived: score ${score.toFixed(0)}%`,
  )
} finally {
  rmSync(copy, { recursive: true })
}

function copyCheckout(): string {
  const target = mkdtempSync(join(tmpdir(), 'svc-mutants-'))
  for (const name of ['packages', 'scripts', 'test', 'docs', 'bench'])
    cpSync(join(root, name), join(target, name), { recursive: true })
  for (const name of [
    'package.json',
    'tsconfig.json',
    'README.md',
    'CHANGELOG.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
  ])
    cpSync(join(root, name), join(target, name))
  cpSync(join(root, 'dist'), join(target, 'dist'), { recursive: true })
  // The workspaces are links relative to node_modules, so the folder itself must lie in the copy.
  cpSync(join(root, 'node_modules'), join(target, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  return target
}

function passes(): boolean {
  const run = (command: string[]) =>
    spawnSync(process.execPath, command, { cwd: copy, stdio: 'ignore', timeout: runMsMax, killSignal: 'SIGKILL' })
      .status === 0
  if (values.build && !run(['scripts/build.mjs'])) return false
  return run(['test', '--bail', '--timeout=120000', ...tests])
}

function shuffled<T>(items: T[], seed: number): T[] {
  let state = seed >>> 0
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
  return items
    .map((item) => ({ item, at: next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
