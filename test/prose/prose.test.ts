import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { parseSource } from '../sources.ts'
import { commentsOf } from './comments.ts'
import { logPage } from './log-messages.ts'
import { stringsDocument, stringsOf, stringsPage } from './strings.ts'

test('docs/strings.md lists every string that a person can read: `npm run generate` writes it', () => {
  expect(readFileSync(stringsPage, 'utf8') === stringsDocument()).toBe(true)
})

test('docs/operate/log.md lists every message of the log: `npm run generate` writes it', () => {
  const { is, wanted } = logPage()
  expect(is).toBe(wanted)
  expect(is.split('\n').filter((line) => /^\| (error|warn|info|debug) \|/.test(line)).length).toBeGreaterThan(150)
})

test.each([
  ['one of two texts that a constant has', '| warn | model upstream rejected a key | `upstream`, `model` |'],
  ['a text in which a part varies', '| info | Preparing the database for its first start (PostgreSQL …) | `dataDir` |'],
  ['a text of a sandbox driver', '| info | sandbox ended | `sandbox_id`, `reason` |'],
])('the messages of the log include %s', (_what, row) => {
  expect(logPage().wanted).toContain(row)
})

describe('collecting strings that a person can read', () => {
  const strings = (text: string, path = 'a.tsx') => stringsOf(parseSource(path, text)).map((found) => found.text)
  test.each<[string, string[]]>([
    ['<p>Merge</p>', ['Merge']],
    ['<p>{count} files changed</p>', ['files changed']],
    ['<Button label="Save" className="px-2 text-sm" />', ['Save']],
    ['<p title={isOpen ? "Close" : `Open ${name}`} />', ['Close', 'Open {…}']],
    ["throw new ServiceError('conflict', 'The base moved.')", ['The base moved.']],
    ["log.info({ id }, 'started a session')", ['started a session']],
    ['const text = `Merged ${a} into ${b}.`', ['Merged {…} into {…}.']],
  ])('finds the strings of %s', (text, found) => expect(strings(text)).toEqual(found))
  test.each([
    "import { x } from 'a module'",
    "log.debug('a detail of the run')",
    'await sql`select one from two`',
    "invariant(ok, 'the row is there')",
    "const kind: 'not a string' = x",
    "const path = '/v1/projects'",
  ])('finds no string in %s', (text) => expect(strings(text)).toEqual([]))
})

test('treats a run of line comments as one comment, and a block as well', () => {
  const text =
    '// One sentence\n// on two lines.\n\n// Another.\n/** A block\n * of two lines. */\nconst a = 1 // At the end.\n'
  expect(commentsOf(parseSource('a.ts', text))).toEqual(
    [
      { line: 1, text: 'One sentence on two lines.' },
      { line: 4, text: 'Another.' },
      { line: 5, text: 'A block of two lines.' },
      { line: 7, text: 'At the end.' },
    ].map((comment) => expect.objectContaining(comment)),
  )
})
