/** Subjects of the commits since the newest version of CHANGELOG.md: `room: imperative summary`, at most 72 columns. */
import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const columnsMax = 72
/** Verbs in the imperative that end like a participle. */
const imperatives = new Set([
  'embed',
  'feed',
  'need',
  'speed',
  'seed',
  'shed',
  'bring',
  'ping',
  'string',
  'exceed',
  'proceed',
])

function wrongSubject(subject: string): string | null {
  if (subject.startsWith('Merge ') || subject.startsWith('Revert ')) return null
  if (subject.length > columnsMax) return `${subject}: has ${subject.length} columns, ${columnsMax} are allowed`
  const [, verb] = /^[a-z0-9][\w./, &-]*: ([a-z][a-z-]*) \S/.exec(subject) ?? []
  if (verb === undefined) return `${subject}: is not "room: imperative summary"`
  if (/(ed|ing)$/.test(verb) && !imperatives.has(verb)) return `${subject}: "${verb}" is not imperative`
  return null
}

/** A checkout without a history, such as an unpacked archive, has none to judge. */
function subjectsSinceRelease(): string[] {
  if (!existsSync(join(root, '.git'))) return []
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const [, released] = /^## \[?v?\d+\.\d+\.\d+\]?.*?(\d{4}-\d{2}-\d{2})/m.exec(changelog) ?? []
  if (released === undefined) throw new Error('CHANGELOG.md has no version with a date.')
  const log = execFileSync('git', ['log', '--no-merges', `--since=${released}T23:59:59Z`, '--format=%s'], {
    cwd: root,
    encoding: 'utf8',
  })
  return log.split('\n').filter((subject) => subject !== '')
}

test('the commits since the last release have subjects that follow CONTRIBUTING.md', () => {
  expect(subjectsSinceRelease().flatMap((subject) => wrongSubject(subject) ?? [])).toEqual([])
})

describe('commit subjects', () => {
  test.each([
    'change-requests: Refused a merge when the base moved',
    'change-requests: refused a merge when the base moved',
    'git: fetching objects in parallel',
    'Refuse a merge',
    'git: refactor',
    `git: ${'split '.repeat(12)}`,
  ])('refuses the subject %p', (subject) => expect(wrongSubject(subject)).not.toBeNull())
  test.each([
    'change-requests: refuse a merge when the base moved',
    'cli, docs: embed the manual',
    'Merge branch "main"',
  ])('accepts the subject %p', (subject) => expect(wrongSubject(subject)).toBeNull())
})
