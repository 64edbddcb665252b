import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { branchName } from './projects.ts'

/** The oracle: git's own verdict on `refs/heads/<name>`. One process answers for one name, so the questions go out in parallel. */
async function gitAccepts(name: string): Promise<boolean> {
  if (name.includes('\0')) return false
  const child = Bun.spawn(['git', 'check-ref-format', `refs/heads/${name}`], { stdout: 'ignore', stderr: 'ignore' })
  return (await child.exited) === 0
}

/** Pieces that meet every rule of git-check-ref-format(1), so that most generated names are near a border of it. */
const piece = fc.constantFrom(
  'a',
  'Z',
  '0',
  '-',
  '_',
  '+',
  '@',
  '{',
  '}',
  '.',
  '..',
  '/',
  '//',
  '.lock',
  'lock',
  ' ',
  '~',
  '^',
  ':',
  '?',
  '*',
  '[',
  ']',
  '\\',
  '\x7f',
  '\x01',
  '\t',
  'é',
  '字',
  '😀',
  'main',
  'refs',
  'HEAD',
  '@{',
  '%',
  '#',
  '!',
  "'",
  '"',
  '`',
)
const generated = fc.array(piece, { minLength: 1, maxLength: 7 }).map((pieces) => pieces.join(''))

describe('branch names', () => {
  test('accepts the branch names that git accepts, except @, which means HEAD', async () => {
    const names = new Set(fc.sample(generated, { numRuns: 600, seed: 7_310 }))
    for (const name of ['main', 'a/b', '-dash', '+main', 'HEAD', '0'.repeat(40), 'a@b', 'a@', '@a', 'a{b', 'x.lockx'])
      names.add(name)
    const differing: string[] = []
    const batch = [...names].filter((name) => name === name.trim() && name !== '@')
    for (let at = 0; at < batch.length; at += 16)
      await Promise.all(
        batch.slice(at, at + 16).map(async (name) => {
          const ours = branchName.safeParse(name).success
          if (ours !== (await gitAccepts(name))) differing.push(`${JSON.stringify(name)}: ours ${ours}`)
        }),
      )
    expect(differing).toEqual([])
    expect(batch.length).toBeGreaterThan(300)
  }, 120_000)

  test('trims a branch name and refuses an empty one', () => {
    expect(branchName.parse('  main\n')).toBe('main')
    expect(branchName.safeParse(' \n ').success).toBeFalse()
    expect(branchName.safeParse('@').success).toBeFalse()
  })

  test('refuses a branch name that is too long for a file name with .lock, in bytes', () => {
    const fits = (name: string) => branchName.safeParse(name).success
    expect([fits('a'.repeat(250)), fits('a'.repeat(251))]).toEqual([true, false])
    expect([fits('é'.repeat(125)), fits('é'.repeat(126))]).toEqual([true, false])
    expect([fits(`${'a'.repeat(120)}/${'b'.repeat(120)}`), fits('a/'.repeat(200))]).toEqual([true, false])
  })

  test('refuses a branch name with half of a surrogate pair', () => {
    expect(branchName.safeParse('a\ud800').success).toBeFalse()
  })
})
