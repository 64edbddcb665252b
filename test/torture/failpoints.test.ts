/** Every failpoint has a scenario, every scenario a failpoint, and the released program contains neither. */
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { program } from '../e2e/harness.ts'
import { scenarios } from './scenarios.ts'

const sources = join(import.meta.dir, '../../packages/server/src')

function namesInSources(): string[] {
  return readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .flatMap((path) => {
      const text = readFileSync(join(sources, path), 'utf8')
      return [...text.matchAll(/\bfailpoint\(('[^']*'|[^'])/g)].map(([, name = '']) => {
        return name.startsWith("'") ? name.slice(1, -1) : `a name that is no literal in ${path}`
      })
    })
    .filter((name) => !name.includes('failpoint.ts'))
}

test('every failpoint is in one place of the sources and in the table of scenarios', () => {
  const names = namesInSources()
  expect(names.length).toBeGreaterThanOrEqual(30)
  expect(names.toSorted()).toEqual(Object.keys(scenarios).toSorted())
})

test('the built program contains no failpoint', () => {
  const bytes = readFileSync(program)
  // The program contains its settings as plain text, so a failpoint's name would be visible as well.
  expect(bytes.includes('SVC_FAILPOINTS')).toBe(true)
  expect(namesInSources().filter((name) => bytes.includes(name))).toEqual([])
  expect(bytes.includes('is set to fail')).toBe(false)
})

test('the built program refuses a failpoint setting', async () => {
  const child = Bun.spawn([program, 'server'], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_FAILPOINTS: 'merge.after_push=kill' },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
  expect([code, said]).toEqual([1, expect.stringContaining('runs from source')])
})
