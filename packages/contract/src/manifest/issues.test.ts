/** Every manifest of test/fixtures/bad-manifests begins with the issues it must have, each with its place. */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyManifest, parseManifest } from './manifest.ts'

const folder = join(import.meta.dir, '../../../../test/fixtures/bad-manifests')
const files = readdirSync(folder).sort()

/** A `#` and a space, then severity, place and words. */
function expectedOf(text: string): string[] {
  const lines = text.split('\n')
  return lines.slice(0, lines.indexOf('')).map((line) => line.slice(2))
}

function saidOf(text: string): string[] {
  return parseManifest(text).issues.map(
    ({ severity, line, column, path, message }) => `${severity} ${line}:${column} ${path || '(file)'}: ${message}`,
  )
}

/** Where what is wrong with a manifest is put into words. */
const sources = [
  ...['manifest.ts', 'fields.ts', 'shape.ts', 'sandbox-settings.ts'],
  ...['../schemas/cron.ts', '../schemas/egress.ts', '../schemas/secret-name.ts'],
]

/** Every literal that is such words: it speaks of what the path before it names, or of a name of a secret. */
function sentencesOfValidator(): string[] {
  return sources.flatMap((name) => {
    const code = readFileSync(join(import.meta.dir, name), 'utf8').replace(/^\s*(\/\/|\/?\*).*$/gm, '')
    return (
      [...code.matchAll(/(?<quote>['`])(?<words>(?:\\.|(?!\k<quote>)[^\\\n])*)\k<quote>/g)]
        // Where another literal stands within, that one has the rest.
        .map((match) => match.groups!.words!.replace(/\$\{[^}]*$/, '${rest}'))
        .filter((words) => /^[a-z]+ |^A secret|^Names that|^\$\{name\} would/.test(words) && isSentence(words))
    )
  })
}

/** Strings that only look like sentences: kinds of values, parts of sentences, imports. */
function isSentence(words: string): boolean {
  return !/^(a|true or|something|an?) /.test(words) && !/^(a )?(whole )?number$/.test(words)
}

/** The variable parts of a sentence match anything. */
function patternOf(sentence: string): RegExp {
  const parts = sentence.split(/\$\{[^}]*\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}

describe('a manifest that is wrong in one way', () => {
  test.each(files)('the fixture %s produces the expected issues at the expected positions', (file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    expect(expectedOf(text).length).toBeGreaterThan(0)
    expect(saidOf(text)).toEqual(expectedOf(text))
  })

  test('the fixtures cover many kinds of mistakes without duplicates', () => {
    expect(files.length).toBeGreaterThan(100)
    const bodies = files.map((file) => readFileSync(join(folder, file), 'utf8').split('\n\n').slice(1).join('\n\n'))
    expect(new Set(bodies).size).toBe(files.length)
  })

  test('the fixtures produce every message of the validator', () => {
    const said = files
      .flatMap((file) => parseManifest(readFileSync(join(folder, file), 'utf8')).issues)
      .map(({ message }) => message)
    const sentences = sentencesOfValidator()
    expect(sentences.length).toBeGreaterThan(60)
    // Two are of texts that no file of this folder could be: too large, or with too many issues to list here.
    const elsewhere = ['is larger than 256 KiB', 'has more issues than are shown']
    const unsaid = sentences.filter((sentence) => {
      return !elsewhere.includes(sentence) && !said.some((message) => patternOf(sentence).test(message))
    })
    expect(unsaid).toEqual([])
    // And no fixture expects a message that is not in the sources.
    const known = sentences.map(patternOf)
    expect(said.filter((message) => !known.some((pattern) => pattern.test(message)))).toEqual([])
  })
})

test('truncates a long list of issues and says so', () => {
  const { issues } = parseManifest(Array.from({ length: 1000 }, (_, i) => `k${i} = 1`).join('\n'))
  expect(issues).toHaveLength(201)
  expect(issues.map((issue) => issue.message)).toContain('has more issues than are shown')
})

test('reports correct positions, whatever comes before them', () => {
  const before = [
    'x = """\n[runtime]\nmodel = "no \\""" still"""',
    "y = '''\n# not a comment ''''",
    '# [runtime]',
    'z = [ # one\n  "a,]", # two\n  { q = 1, "r.s" = [1] },\n]',
    'd = 1979-05-27 07:32:00 # a date with a space',
    '"quoted key".\'lit\'.bare = { a.b = 1 }',
    '[[list]]\n[[list.inner]]\n[list.inner.deep]\nn = 1\n[[list.inner]]',
  ]
  for (let count = 0; count <= before.length; count++) {
    const text = `${before.slice(0, count).join('\n')}\n[runtime]\n  model\t=\t7\n`
    const issue = parseManifest(text).issues.find((one) => one.path === 'runtime.model')
    expect(issue).toMatchObject({ line: text.split('\n').length - 1, column: 11 })
  }
})

test('validates the largest and the deepest manifests', () => {
  const many = (line: (index: number) => string) => {
    let text = ''
    for (let index = 0; text.length < 250_000; index++) text += line(index)
    return text
  }
  const texts = [
    many((i) => `k${i} = 1\n`),
    many((i) => `[[triggers]]\nslug = "s${i}"\n`),
    `[env]\nrequired = [${many((i) => `"a b${i}",`)}]`,
    `${'a.'.repeat(100_000)}a = 1`,
    `[${'a.'.repeat(60_000)}a]\n${'k'.repeat(10)} = 1\n`,
    `x = "${'y'.repeat(250_000)}"\nz = 1`,
    `# ${'y'.repeat(250_000)}\nz = 1`,
    `${' \n'.repeat(120_000)}z = 1`,
    `x = ${'['.repeat(900)}${']'.repeat(900)}`,
  ]
  for (const text of texts) {
    // Code that is not linear here exceeds the time limit of the test runner.
    const { issues } = parseManifest(text)
    expect(issues.length).toBeGreaterThan(0)
  }
  expect(parseManifest(`x = ${'['.repeat(100_000)}`).manifest).toEqual(emptyManifest)
})
