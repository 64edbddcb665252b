/** The page docs/engineering/specification.md: what it names is there, and what there is, it names. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue, isGroup } from '../packages/cli/src/arguments/catalogue.ts'
import { routes } from '../packages/contract/src/openapi.ts'

const root = join(import.meta.dir, '..')
const page = read('docs/engineering/specification.md')

interface Row {
  number: string
  promise: string
  shownBy: string
}
interface Section {
  number: number
  title: string
  rows: Row[]
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function parseSections(text: string): Section[] {
  const [, ...parts] = text.split(/^## /m)
  return parts.map((part) => {
    const [, number, title] = /^(\d+)\. (.+)$/m.exec(part)!
    const rows = part
      .split('\n')
      .filter((line) => /^\| \d/.test(line))
      .map((line) => {
        const [id, promise, shownBy] = line.slice(1, -1).split(' | ')
        return { number: id!.trim(), promise: promise!.trim(), shownBy: (shownBy ?? '').trim() }
      })
    return { number: Number(number), title: title!, rows }
  })
}

/** Why this reference to a test leads nowhere, or null. */
function wrongReference(reference: string, textOf = read): string | null {
  const [, path, name] = /^`([^`]+\.test\.tsx?)`: (.+)$/.exec(reference) ?? []
  if (path === undefined || name === undefined) return 'is no `file`: name'
  if (!existsSync(join(root, path))) return 'names a file that is not there'
  const text = textOf(path)
  let from = 0
  for (const title of name.split(' › ')) {
    const found = titleIn(text, title, from)
    if (found === -1) return `has no ${JSON.stringify(title)} at that place`
    from = found + 1
  }
  return lastIsTest(text, from - 1) ? null : 'names a group and no test of it'
}

/** A title is the first argument of a call: `test('…',`, also behind a table (`test.each([…])('…',`). */
function titleIn(text: string, title: string, from: number): number {
  const at = ["'", '"', '`'].flatMap((quote) => {
    const written = `${quote}${title}${quote},`
    const places: number[] = []
    for (let place = text.indexOf(written, from); place !== -1; place = text.indexOf(written, place + 1))
      if (text.slice(0, place).trimEnd().endsWith('(')) places.push(place)
    return places
  })
  return at.length === 0 ? -1 : Math.min(...at)
}

function lastIsTest(text: string, at: number): boolean {
  const calls = [...text.slice(0, at).matchAll(/^\s*(describe|test|it)\b/gm)]
  return calls.at(-1)?.[1] !== 'describe'
}

const sections = parseSections(page)
const rows = sections.flatMap((section) => section.rows)

describe('docs/engineering/specification.md', () => {
  test('has its sections in order, and none is empty', () => {
    expect(sections.length).toBeGreaterThan(12)
    expect(sections.map(({ number }) => number)).toEqual(sections.map((_, i) => i + 1))
    expect(sections.filter((section) => section.rows.length === 0)).toEqual([])
  })

  test('numbers its rows without a gap', () => {
    expect(rows.length).toBeGreaterThan(120)
    const numbers = sections.flatMap(({ number, rows }) => rows.map((_, i) => `${number}.${i + 1}`))
    expect(rows.map((row) => row.number)).toEqual(numbers)
  })

  test('names existing tests for every promise', () => {
    const wrong = rows.flatMap(({ number, shownBy }) =>
      shownBy.split('<br>').flatMap((reference) => {
        const problem = wrongReference(reference)
        return problem === null ? [] : [`${number}: ${reference} ${problem}`]
      }),
    )
    expect(wrong).toEqual([])
    for (const { promise } of rows) expect(promise).not.toBe('')
  })

  test('names every route of the contract, and no other', () => {
    const promises = rows.flatMap(({ promise }) =>
      [...promise.matchAll(/`([A-Z]+ [/…][^`]*)`/g)].map(([, name]) => name!),
    )
    const shown = promises
      .map((name) => name.replace('…', '/v1/projects/:projectId'))
      .filter((name) => name.includes(' /v1/'))
    const all = routes.map(({ method, path }) => `${method} ${path}`)
    expect(all.length).toBeGreaterThan(100)
    expect(all.filter((name) => !shown.includes(name))).toEqual([])
    expect(shown.filter((name) => !all.includes(name))).toEqual([])
  })

  test('names every command of the client', () => {
    const all = Object.entries(catalogue).flatMap(([name, entry]) =>
      isGroup(entry) ? Object.keys(entry.commands).map((verb) => `${name} ${verb}`) : [name],
    )
    const named = [
      ...rows
        .map(({ promise }) => promise)
        .join('\n')
        .matchAll(/`svc ([a-z -]+)`/g),
    ].map(([, name]) => name!)
    expect(all.length).toBeGreaterThan(100)
    expect(all.filter((name) => !named.includes(name))).toEqual([])
    expect(named.filter((name) => !all.includes(name) && !isGroup(catalogue[name]!))).toEqual([])
  })

  test('names every variable of a sandbox', () => {
    const declared = /const platform = \{([^]*?)^\}/m.exec(
      read('packages/contract/src/daemon/sandbox-environment.ts'),
    )![1]!
    const names = [...declared.matchAll(/^ {2}(SVC_\w+):/gm)].map(([, name]) => name!)
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })
})

describe('references to tests', () => {
  const source = `describe('a door', () => {\n  test('opens', () => {})\n})\ntest.each([[1]])(\n  'says %s',\n  () => {})\n// 'shuts',\n`
  const file = 'test/architecture.test.ts'
  test.each([
    ['opens', null],
    ['a door › opens', null],
    ['says %s', null],
    ['a door', 'names a group and no test of it'],
    ['shuts', 'has no "shuts" at that place'],
    ['says %s › opens', 'has no "opens" at that place'],
    ['open', 'has no "open" at that place'],
  ])('the reference %s has the expected problem', (name, problem) => {
    expect(wrongReference(`\`${file}\`: ${name}`, () => source)).toBe(problem)
  })

  test('finds a reference to a missing file', () => {
    expect(wrongReference('`test/nowhere.test.ts`: opens')).toBe('names a file that is not there')
    expect(wrongReference('nothing yet')).toBe('is no `file`: name')
  })
})
